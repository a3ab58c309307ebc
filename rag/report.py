"""What became of every record of an add or a sync. Does nothing itself."""

from __future__ import annotations

from dataclasses import dataclass, field

from rag.corpus import Skipped


@dataclass(frozen=True, slots=True)
class AddReport:
    """What became of every record, by paper id; files and records that were left out, with reasons.

    ``changed``: took the place of an earlier version. ``unchanged``: the library had it from that file.
    ``duplicates``: the same text came from elsewhere, or twice; ``near_duplicates``: the same paper in other words,
    kept once (the ids are of the papers kept). ``removed``: in none of the files any more. ``resumed``: stored by a
    run that broke off, and finished by this one.
    """

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    duplicates: tuple[str, ...] = ()
    near_duplicates: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    resumed: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    failed: tuple[Skipped, ...] = ()

    def __str__(self) -> str:
        """One line of counts; zeros are left out."""
        counts = {
            "added": self.added,
            "changed": self.changed,
            "removed": self.removed,
            "finished": self.resumed,
            "unchanged": self.unchanged,
            "duplicates": self.duplicates,
            "near-duplicates": self.near_duplicates,
            "records skipped": self.skipped,
            "files failed": self.failed,
        }
        return ", ".join(f"{len(what)} {name}" for name, what in counts.items() if what) or "nothing to add"


@dataclass(slots=True)
class Tally:
    """A report in the making."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)
    near_duplicates: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    resumed: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    failed: list[Skipped] = field(default_factory=list)

    def report(self) -> AddReport:
        """The report as it stands."""
        return AddReport(**{name: tuple(getattr(self, name)) for name in AddReport.__dataclass_fields__})

"""What holds for every test."""

import signal

# Started in the background of a shell, a program and all that it starts ignore Ctrl-C; tests that send one would wait
# for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

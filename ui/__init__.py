"""The chat in the browser: ask, watch the answer come, open the abstract behind each sentence.

``app`` wires Gradio and nothing else; ``handlers`` turns a session's questions into views; ``render`` turns questions,
answers and abstracts into safe HTML. Nothing here is loaded from another host, and nothing is sent to one.
"""

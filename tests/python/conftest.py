"""The tests send Ctrl-C to separate processes, which a shell without job control starts with it ignored."""

import signal

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

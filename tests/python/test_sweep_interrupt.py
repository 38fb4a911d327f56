"""An interrupt wakes the driver of a sweep."""

from __future__ import annotations

import select
import signal
import threading

from tendril.sweep.driver import Interrupt


def test_a_signal_wakes_the_driver_before_python_has_called_its_handler() -> None:
    before = signal.getsignal(signal.SIGINT)
    interrupt = Interrupt()
    try:
        # In another thread: the wait of this one is not interrupted, so that Python calls no handler.
        thread = threading.Timer(0.1, lambda: signal.pthread_kill(threading.get_ident(), signal.SIGINT))
        thread.start()
        ready, _, _ = select.select([interrupt.reader], [], [], 60)
        thread.join()
        assert ready
        assert interrupt.count == 1
    finally:
        interrupt.close()
    assert signal.getsignal(signal.SIGINT) is before
    assert signal.set_wakeup_fd(-1) == -1

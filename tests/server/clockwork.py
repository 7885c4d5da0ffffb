"""The program with a clock of its own: `clockwork.py SECONDS serve …` is ahead by that; SIGUSR1 sets it back by a day.

Only the time of day is changed; the time that programs measure durations by never goes back, here or anywhere.
"""

import datetime as dt
import signal
import sys

import time_machine

DAY = 86_400

if __name__ == "__main__":
    ahead = dt.timedelta(seconds=float(sys.argv.pop(1)))
    clock = time_machine.travel(dt.datetime.now(dt.UTC) + ahead, tick=True).start()
    signal.signal(signal.SIGUSR1, lambda *_: clock.shift(-DAY))
    from aerogram.cli.program import main

    main()

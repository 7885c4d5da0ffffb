/** Turn: of several questions in a row only the last one is wanted, so a new one gives up the one before it. */

export class Turn {
  /** `signal` ends them all. */
  constructor(signal) {
    this._signal = signal;
  }

  /** The signal of a new question; from now on, nobody waits for the older one. */
  next() {
    this._asked?.abort();
    this._asked = new AbortController();
    return AbortSignal.any([this._signal, this._asked.signal]);
  }
}

"""Operations: settings, logs, metrics and everything else that a server needs to be run."""

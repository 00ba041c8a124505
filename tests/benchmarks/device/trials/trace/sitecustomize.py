"""With STARTTRACE=FOLDER: samples every thread of this process for its first seconds, 25 times a second."""

import os

if os.environ.get("STARTTRACE"):
    import atexit
    import json
    import sys
    import threading
    import time

    _FOLDER, _FOR = os.environ["STARTTRACE"], float(os.environ.get("STARTTRACE_S", "60"))
    _OURS = ("/pipeline/", "/ocr/", "/encoders/", "/storage/")

    def _label(frame):
        """The innermost frame, and the innermost of our own."""
        inner = None
        loading = ""
        while frame is not None:
            code = frame.f_code
            name = f"{code.co_filename.rsplit('/', 1)[-1]}:{code.co_name}"
            inner = inner or name
            if code.co_name == "<module>" and not loading:
                loading = " importing " + code.co_filename.split("site-packages/")[-1].split("/")[0]
            if any(part in code.co_filename for part in _OURS) and "site-packages" not in code.co_filename and code.co_name != "<module>":
                return f"{name} > {inner}{loading}"
            frame = frame.f_back
        return f"{inner}{loading}"

    def _age():
        try:
            with open("/proc/self/stat") as stat:
                started = int(stat.read().rsplit(")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")
            with open("/proc/uptime") as up:
                return float(up.read().split()[0]) - started
        except OSError:
            return 0.0

    _SAMPLES = []
    _ZERO = time.time() - _age()

    def _write():
        if _SAMPLES:
            try:
                partial = f"{_FOLDER}/{os.getpid()}.partial"
                with open(partial, "w") as out:
                    out.write(json.dumps({"pid": os.getpid(), "began": _ZERO, "argv": sys.argv[:6], "samples": list(_SAMPLES)}))
                os.replace(partial, f"{_FOLDER}/{os.getpid()}.json")
            except OSError:
                pass

    def _sample():
        me = threading.get_ident()
        written = 0.0
        while (now := time.time() - _ZERO) < _FOR:
            names = {thread.ident: thread.name for thread in threading.enumerate()}
            for ident, frame in sys._current_frames().items():
                name = names.get(ident, "?")
                if ident != me and (name in ("MainThread", "model", "decoder", "imports", "preparer") or name.startswith("Thread-")):
                    _SAMPLES.append((round(now, 2), name, _label(frame)))
            if now - written > 3:
                written = now
                _write()
            time.sleep(0.04)
        _write()

    def _begin():
        threading.Thread(target=_sample, name="starttrace", daemon=True).start()

    def _forked():
        global _ZERO
        _SAMPLES.clear()
        _ZERO = time.time()
        _begin()

    os.makedirs(_FOLDER, exist_ok=True)
    _begin()
    os.register_at_fork(after_in_child=_forked)
    atexit.register(_write)

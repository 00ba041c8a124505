import sys,time,pickle,numpy as np
sys.argv=["x"]; 
from pathlib import Path
from PIL import Image
from ocr.line_reader.reading import LineReader
from ocr.line_reader.networks import OnnxNetworks
from pipeline.api.image_reader import ImageReader
W=Path("ocr/weights/small/lines"); U=Path("/work/tmp/unseen")
def reader(r,f):
    x=ImageReader(threads=1); n=OnnxNetworks(Path(r)); n._finder=OnnxNetworks(Path(f))._finder; x._lines=LineReader.load(W,networks=n); return x
R={"float":reader(W,W),"finder":reader(W,"/work/tmp/q/gf_packed"),"reader":reader("/work/tmp/q/ptq2",W),"both":reader("/work/tmp/q/ptq2","/work/tmp/q/gf_packed")}
for s in ("digital","scans","composed"):
    T={k:[] for k in R}
    for p in sorted((U/s).iterdir())[3::14][:8]:
        im=Image.open(p); im.load()
        each={k:[] for k in R}
        for _ in range(3):
            for k,r in R.items(): t=time.process_time(); r.read(im); each[k].append(time.process_time()-t)
        for k in R: T[k].append(min(each[k]))
    print(s,{k:round(1e3*np.mean(v)) for k,v in T.items()},"CPU ms a page, mean of minima of 3 by turns",flush=True)

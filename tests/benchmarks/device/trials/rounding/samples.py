import sys
from pathlib import Path
from PIL import Image
from rapidfuzz.distance import Levenshtein
from ocr.line_reader.reading import LineReader
from ocr.line_reader.networks import OnnxNetworks
from pipeline.api.image_reader import ImageReader
W=Path("ocr/weights/small/lines")
def reader(r,f):
    x=ImageReader(threads=1); n=OnnxNetworks(Path(r)); n._finder=OnnxNetworks(Path(f))._finder; x._lines=LineReader.load(W,networks=n); return x
R={"float":reader(W,W),"finder":reader(W,"/work/tmp/q/gf_packed"),"reader":reader("/work/tmp/q/ptq2",W),"both":reader("/work/tmp/q/ptq2","/work/tmp/q/gf_packed")}
import pymupdf
pics=[]
for p in sorted(Path("tests/samples").iterdir()):
    if p.suffix==".pdf":
        for i,pg in enumerate(pymupdf.open(p)): x=pg.get_pixmap(dpi=200); pics.append((f"{p.name}:{i+1}",Image.frombytes("RGB",(x.width,x.height),x.samples)))
    else: pics.append((p.name,Image.open(p).convert("RGB")))
for n,im in pics:
    t={k:r.read(im).text for k,r in R.items()}; print(n,len(t["float"]),{k:Levenshtein.distance(t["float"],v) for k,v in t.items()},flush=True)

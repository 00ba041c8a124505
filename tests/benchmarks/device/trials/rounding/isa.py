import numpy as np,time,sys,pickle
from pathlib import Path
from functools import partial
from ocr.line_reader.networks import finder_graph,reader_graph,read_sizes
from ocr.line_reader.onnx_graph import session
F=Path(sys.argv[1]); R=Path(sys.argv[2]); _,sz=read_sizes(R)
f=session(F/"finder.safetensors",finder_graph,("darkness","cells"),1); r=session(R/"reader.safetensors",partial(reader_graph,sz),("line","logits"),1)
d=np.load("/work/tmp/wQ/isa_in.npz"); out={}
t=time.time()
for k in d.files:
    out[k]=(f.run(None,{"darkness":d[k]}) if k[0]=="p" else r.run(None,{"line":d[k]}))[0]
print("ran",time.time()-t); np.savez(sys.argv[3],**out)

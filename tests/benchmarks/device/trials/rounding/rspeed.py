import time,numpy as np
from pathlib import Path
from ocr.line_reader.layers import stored_in,RANGE
from ocr.line_reader.networks import reader_graph,read_sizes
W=Path("/work/tmp/q/ptq"); _,sz=read_sizes(W); st=stored_in(W/"reader.safetensors")
fl={k:v for k,v in st.items() if not k.endswith(RANGE)}
print(list(reader_graph(sz,st).met))
S={"float":reader_graph(sz,fl).session("line",{"logits":3}),"8 bits":reader_graph(sz,st).session("line",{"logits":3})}
x=np.random.default_rng(0).random((1,1,40,1024),np.float32); T={k:[] for k in S}
for r in range(100):
    for k,s in S.items():
        t=time.perf_counter(); s.run(None,{"line":x}); T[k].append(time.perf_counter()-t)
for k,v in T.items(): print(f"{k:20s} {1e3*np.median(v):.2f} ms  min {1e3*min(v):.2f}")

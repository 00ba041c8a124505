import time,pickle,re,sys,numpy as np,onnxruntime as ort
from pathlib import Path
from rapidfuzz.distance import Levenshtein
from safetensors.numpy import load_file
from ocr.line_reader.networks import reader_graph,read_sizes
F=Path("/work/tmp/q/ptq2"); st=load_file(F/"reader.safetensors"); ch,sz=read_sizes(F)
def made(skip):
    s={k:v for k,v in st.items() if not(k.endswith(".range") and re.search(skip,k[:-6]))}
    o=ort.SessionOptions(); o.intra_op_num_threads=1; o.log_severity_level=3
    return ort.InferenceSession(reader_graph(sz,s).model("line","logits"),o,providers=["CPUExecutionProvider"])
V={"float":".","all":"^$","no stage1":r"^stem\.[23](\.|$)","no st.1, dw":r"^stem\.[23](\.|$)|\.n$","stage2 only":r"^stem\.([23]|9|1\d)(\.|$)","no st1 no 6":r"^stem\.([236])(\.|$)"}
V={k:made(v) for k,v in V.items()}
L=pickle.load(open("/work/tmp/wQ/lines.pkl","rb"))[::4]
def col(lg):
    c=lg.argmax(-1); r=c[np.r_[True,c[1:]!=c[:-1]]]; return tuple(r[r!=0])
T={k:[] for k in V}; X=np.random.default_rng(0).random((1,1,40,1024),np.float32)
for _ in range(10):
    for k,s in V.items(): t=time.process_time(); s.run(None,{"line":X}); T[k].append(time.process_time()-t)
E={k:0 for k in V}; KL={k:0. for k in V}; n=0; fr=0
ls=lambda a:a-a.max(-1,keepdims=True)-np.log(np.exp(a-a.max(-1,keepdims=True)).sum(-1,keepdims=True))
for s_,im in L:
    x=np.pad(im.astype(np.float32),((0,0),(0,-im.shape[1]%8)))[None,None]; b=V["float"].run(None,{"line":x})[0][0]; B=col(b); lb=ls(b); n+=len(B); fr+=len(b)
    for k,s in V.items():
        o=s.run(None,{"line":x})[0][0]; E[k]+=Levenshtein.distance(B,col(o)); KL[k]+=float((np.exp(lb)*(lb-ls(o))).sum())
print(n,"characters")
for k in V: print(f"{k:15s} {1e3*np.median(T[k]):.2f} min {1e3*min(T[k]):.2f} ms; changed {E[k]} KL {1e4*KL[k]/fr:.2f}e-4")

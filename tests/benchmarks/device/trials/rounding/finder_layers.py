import time,pickle,re,sys,numpy as np,onnxruntime as ort
from pathlib import Path
from safetensors.numpy import load_file
from ocr.line_reader.networks import finder_graph
st=load_file(sys.argv[1])
def made(skip):
    s={k:v for k,v in st.items() if not(k.endswith(".range") and re.search(skip,k[:-6]))}
    o=ort.SessionOptions(); o.intra_op_num_threads=1; o.log_severity_level=3
    return ort.InferenceSession(finder_graph(s).model("darkness","cells"),o,providers=["CPUExecutionProvider"])
V={k:made(v) for k,v in {"float":".","all":"^$","no s2":"^s2","no r4":"^(r4|j4)","no r4,u4":"^(r4|j4|u4)","no s2,r4,u4":"^(s2|r4|j4|u4)","no s2,s4":"^s[24]\\.","no s2,s4,r4":"^(s2|s4|r4|j4|u4)"}.items()}
p=pickle.load(open("/work/tmp/wQ/pages.pkl","rb"))[1].astype(np.float32); x=np.pad(p,((0,-p.shape[0]%32),(0,-p.shape[1]%32)))[None,None]
T={k:[] for k in V}
for i in range(10):
    for k,s in V.items():
        t=time.process_time(); s.run(None,{"darkness":x}); T[k].append(time.process_time()-t)
print({k:(round(1e3*np.median(v),1),round(1e3*min(v),1)) for k,v in T.items()})

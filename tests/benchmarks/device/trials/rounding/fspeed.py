import time,pickle,numpy as np,sys
from pathlib import Path
from ocr.line_reader.layers import stored_in,RANGE
from ocr.line_reader.networks import finder_graph
st=stored_in(Path("/work/tmp/q/gf_packed/finder.safetensors")); names=list(finder_graph(st).met)
def made(skip=lambda n:False):
    s={k:v for k,v in st.items() if not(k.endswith(RANGE) and skip(k[:-6]))}
    return finder_graph(s).session("darkness",{"cells":4})
V={"float":made(lambda n:True),"all":made(),"no r4":made(lambda n:n in("j4","u4") or n.startswith("r4")),"no s2,s4":made(lambda n:n.startswith(("s2","s4"))),
   "no head in":made(lambda n:n=="r4"),"no s2,s4,r4":made(lambda n:n.startswith(("s2","s4","r4","j4","u4"))), "only <=1/8":made(lambda n:n.startswith(("s2","s4","r4","j4","u4")))}
D=pickle.load(open("/work/tmp/q/dump/scans0.pkl","rb")); D.update(pickle.load(open("/work/tmp/q/dump/digital0.pkl","rb")))
big=[v["pages"][0][0].astype(np.float32) for v in D.values() if v["pages"]]
pad=lambda p:np.pad(p,((0,-p.shape[0]%32),(0,-p.shape[1]%32)))[None,None]
T={k:[] for k in V}
for i in range(12):
    x=pad(big[i])
    for k,s in V.items():
        t=time.perf_counter(); s.run(None,{"darkness":x}); T[k].append(time.perf_counter()-t)
E={k:[] for k in V}
for p in big[::2]:
    x=pad(p); b=V["float"].run(None,{"darkness":x})[0][0]; on=b[0]>0
    if on.sum()<50: continue
    for k,s in V.items():
        c=s.run(None,{"darkness":x})[0][0]; d=8*(c[1]-b[1])[on]
        E[k].append((np.abs(c[0]-b[0])[on].mean(),d.std(),d.mean(),((c[0]>0)!=on).mean()*1e4/on.mean()*1e0,np.abs(c[2]-b[2])[on].mean()))
for k in V:
    e=np.array(E[k]); print(f"{k:12s} {1e3*np.median(T[k]):.1f} ms min {1e3*min(T[k]):.1f}; logit off {e[:,0].mean():.3f}, drop px std {e[:,1].mean():.3f} mean|.| {np.abs(e[:,2]).mean():.4f}, text cells flipped {e[:,3].mean():.1f}e-4, size {e[:,4].mean():.4f}")

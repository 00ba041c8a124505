"""Folder with the shipped weights and ranges measured on drawn lines and pages. ptq.py OUT [within]"""
import sys,pickle,shutil,torch
from pathlib import Path
from functools import partial
import numpy as np
from safetensors.torch import save_file,load_file
from ocr.line_networks.reader_net import open_net
from ocr.line_networks.finder_net import FinderNet
from ocr.int8 import fill
from ocr.line_reader.networks import reader_graph,finder_graph
torch.set_num_threads(1)
W=Path("ocr/weights/small/lines"); out=Path(sys.argv[1]); out.mkdir(exist_ok=True,parents=True); q=float(sys.argv[2]) if len(sys.argv)>2 else .99
def measure(net,graph,inputs):
    st={n:t.numpy() for n,t in net.state_dict().items()}; seen={}
    for n in graph(st).met: net.get_submodule(n).register_forward_hook(lambda m,_,y,n=n: seen.setdefault(n,[]).append((float(y.min()),float(y.max()))))
    with torch.no_grad():
        for i in inputs: net(*i)
    return {n+".range":torch.tensor([min(0,np.quantile([a for a,_ in v],1-q)),np.quantile([b for _,b in v],q)],dtype=torch.float16) for n,v in seen.items()}
r,_=open_net(W); r.eval()
L=pickle.load(open("/work/tmp/q/calib_lines.pkl","rb"))[:400]
def line(im): 
    w=-im.shape[1]%8; return torch.from_numpy(np.pad(im,((0,0),(0,w))).astype(np.float32))[None,None],torch.tensor([im.shape[1]])
rr=measure(r,partial(reader_graph,r.sizes),map(line,L))
f=FinderNet().eval(); fill(f,W/"finder.safetensors")
P=pickle.load(open("/work/tmp/q/calib_pages.pkl","rb"))
fr=measure(f,finder_graph,[(torch.from_numpy(p.astype(np.float32))[None],) for p in P])
print({k:[round(x,1) for x in v.tolist()] for k,v in fr.items()})
for n,x in(("reader",rr),("finder",fr)): save_file(load_file(W/f"{n}.safetensors")|x,out/f"{n}.safetensors")
for n in("reader.json","confidence.json"): shutil.copy(W/n,out/n)

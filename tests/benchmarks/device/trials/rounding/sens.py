"""Which rounding changes what: torch emulation against torch float on captured lines."""
import sys,time,pickle
sys.path.insert(0,"/work/tmp/q")
from emul import *
torch.set_num_threads(1); torch.set_grad_enabled(False)
S=Stem(); cal=pickle.load(open("/work/tmp/q/calib_lines.pkl","rb"))[:400]
# calibration: per line min/max of each site
B={}
def rec(n,x):
    B.setdefault(n,[]).append(torch.stack([x.amin((0,2,3)),x.amax((0,2,3))])); return x   # per channel
for c,x,w in batches(cal,1): S.run(x,qa=rec)
B={n:torch.stack(v) for n,v in B.items()}   # [lines,2,C]
def ranges(pct,per_channel=False,f=1.0):
    R={}
    for n,v in B.items():
        if not per_channel: lo=v[:,0].amin(1); hi=v[:,1].amax(1)
        else: lo,hi=v[:,0],v[:,1]
        lo=torch.quantile(lo,1-pct,0).clamp(max=0)*f; hi=torch.quantile(hi,pct,0).clamp(min=0)*f
        R[n]=(lo,hi.clamp(min=1e-4))
    return R
def qact(R,only=None,skip=()):
    def q(n,x):
        if only is not None and n not in only or n in skip: return x
        lo,hi=R[n]; 
        if lo.ndim: lo,hi=lo[None,:,None,None],hi[None,:,None,None]
        s=(hi-lo)/255; z=torch.round(-lo/s)
        return (torch.clamp(torch.round(x/s)+z,0,255)-z)*s
    return q
def qwt(most,only=None,skip=(),dw=127):
    def q(n,w):
        if only is not None and n not in only or n in skip: return w
        m=dw if n.endswith(".dw") else most
        s=(w.abs().amax((1,2,3),keepdim=True)/m).clamp(min=2**-20)
        return torch.round(w/s)*s
    return q
if __name__=="__main__":
    L=load(sys.argv[2].split(","),float(sys.argv[1])); im=[l[2] for l in L]
    bs=list(batches(im)); n=sum(len(l[3]) for l in L)
    base=[None]*len(L); bl=[]
    t=time.time()
    for c,x,w in bs:
        lg,fr=S.logits(S.run(x),w); bl.append(lg.log_softmax(-1))
        for r,i in enumerate(c): base[i]=collapse(lg[r,:fr[r]].argmax(-1).numpy())
    d=sum(Levenshtein.distance(a,l[3]) for a,l in zip(base,L))
    print(len(L),"lines",n,"chars; torch float vs ORT dynamic: changed",d,"time",round(time.time()-t),flush=True)
    sites=list(B); wn=list(S.p)
    print("ranges",{k:(round(float(a),2),round(float(b),2)) for k,(a,b) in ranges(.99).items()})
    def test(name,**k):
        e={};kl=0;fr_=0
        for (c,x,w),b in zip(bs,bl):
            lg,fr=S.logits(S.run(x,**k),w); lp=lg.log_softmax(-1); kl+=float((b.exp()*(b-lp)).sum()); fr_+=int(fr.sum())
            for r,i in enumerate(c): e[L[i][0]]=e.get(L[i][0],0)+Levenshtein.distance(collapse(lg[r,:fr[r]].argmax(-1).numpy()),base[i])
        t=sum(e.values()); print(f"{name:44s} changed {t:4d} 1 of {n/max(1,t):7.0f} KL {1e4*kl/fr_:.2f}e-4",e,flush=True)
    exec(open(sys.argv[3]).read())

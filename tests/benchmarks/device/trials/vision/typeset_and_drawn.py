import json, sys
from collections import defaultdict
import numpy as np
d=json.load(open(sys.argv[1]))["jobs"]
DRAWN={"nested","screen","spreads","noted","explained","boxes","articles","entries","reference","tight"}
f1=lambda c: 2*c[0]/(2*c[0]+c[1]+c[2]) if any(c) else float("nan")
order=["start","none","finder","global","global+local","patches","all"]
for split in ("seen","held"):
  for group in ("typeset","drawn"):
    for arm in order:
        rows=[]
        for name,j in sorted(d.items()):
            if (name=="start")!=(arm=="start") or (arm!="start" and j["arm"]!=arm): continue
            fig={g:v for g,v in j[split]["figures"].items() if g!="all" and (g in DRAWN)==(group=="drawn")}
            ch=sum(v["characters"] for v in fig.values()); n=sum(v["pages"] for v in fig.values())
            r={"moved":100*sum(v["moved"]*v["characters"] for v in fig.values())/ch}
            for k in ("headings","captions","furniture","footnotes","list items","tables","code","forms","cells","joined"):
                r[k]=f1(np.sum([v["counts"][k] for v in fig.values()],0))
            roles=[0,0]
            rows.append(r)
        print(f"{split} {group:8} {n:4} {ch:7} {arm:13}", " ".join(f"{k[:8]} "+"/".join(f"{r[k]:.3f}" for r in rows) for k in rows[0]))

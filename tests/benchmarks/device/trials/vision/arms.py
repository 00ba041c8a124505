import json, sys
from collections import defaultdict
import numpy as np
d=json.load(open(sys.argv[1])); jobs=d["jobs"]
print({k:v for k,v in d.items() if k!="jobs"})
f1=lambda c: 2*c[0]/(2*c[0]+c[1]+c[2]) if any(c) else float("nan")
arms=defaultdict(list)
for name,j in sorted(jobs.items()):
    if "seen" in j and "held" in j: arms["start" if name=="start" else j["arm"]].append(j)
    print(name, j.get("steps"), j.get("epochs"), round(j.get("seconds",0)), j.get("parameters"), j.get("cut short"), (j.get("checks") or [{}])[-1])
keys=["perfect","blocks","headings","furniture","captions","footnotes","list items","tables","contents","code","forms","formulas","levels"]
for split in ("seen","held"):
    print("==",split)
    print(f"{'arm':14} {'moved':>22} "+" ".join(f"{k[:8]:>8}" for k in keys)+"    cells")
    for arm,js in arms.items():
        fig=[j[split]["figures"]["all"] for j in js]
        mv=[f["moved"] for f in fig]
        print(f"{arm:14} {'/'.join(f'{100*m:.3f}' for m in mv):>22} "+" ".join(f"{np.mean([f[k] for f in fig]):8.4f}" for k in keys)+f" {np.mean([f['cells'] for f in fig]):8.4f}", "spread cells", [round(f['cells'],4) for f in fig], "heads", [round(f['headings'],4) for f in fig])
    print("losses")
    for arm,js in arms.items():
        print(f"{arm:14}", {k: [round(j[split]["losses"][k],4) for j in js] for k in js[0][split]["losses"]})
    if "none" in arms:
        base=np.mean([[m[1] for m in j[split]["moved"]] for j in arms["none"]],0); chars=np.array([m[2] for m in arms["none"][0][split]["moved"]])
        rng=np.random.default_rng(0); pick=rng.integers(0,len(chars),(4000,len(chars)))
        for arm,js in arms.items():
            own=np.mean([[m[1] for m in j[split]["moved"]] for j in js],0)
            diff=(own-base); b=diff[pick].sum(1)/chars[pick].sum(1)
            print(f"{arm:14} minus none {100*diff.sum()/chars.sum():+.3f}% [{100*np.quantile(b,.025):+.3f}, {100*np.quantile(b,.975):+.3f}], pages worse {int((diff>.02*chars+3).sum())} better {int((-diff>.02*chars+3).sum())}")
        genres=sorted(jobs["start"][split]["figures"]) if "start" in jobs else sorted(arms["none"][0][split]["figures"])
        for what in ("moved","headings","tables","cells","captions","furniture","blocks"):
            print("-- by genre:",what)
            for g in genres:
                row=[]
                for arm,js in arms.items():
                    vals=[j[split]["figures"][g][what] for j in js]
                    row.append("/".join(f"{100*x:.2f}" for x in vals))
                if all(r.startswith("nan") for r in row): continue
                print(f"{g:12} {jobs['start'][split]['figures'][g]['pages'] if 'start' in jobs else '':>4} "+"  ".join(f"{a}:{r}" for a,r in zip(arms,row)))

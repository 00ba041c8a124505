"""judge.py STRIDE START NAME=FINDER_FOLDER,READER_FOLDER ...: unseen pages by turns: wrong characters and CPU ms of each arm."""
import sys,json,time,collections,random
from pathlib import Path
from PIL import Image
from rapidfuzz.distance import Levenshtein
from ocr.line_reader.reading import LineReader
from ocr.line_reader.networks import OnnxNetworks
from pipeline.api.image_reader import ImageReader
from tests.benchmarks.quality.readings.engines import Reading
from tests.benchmarks.quality.scoring.scores import score
U=Path("/work/tmp/unseen"); W=Path("ocr/weights/small/lines"); m=json.loads((U/"manifest.json").read_text())["pages"]
stride,start=int(sys.argv[1]),int(sys.argv[2]); arms={}
for a in ["ships=-,-",*sys.argv[3:]]:
    k,v=a.split("="); f,r=(W if x=="-" else Path(x) for x in v.split(","))
    n=OnnxNetworks(r); n._finder=OnnxNetworks(f)._finder if f!=r else n._finder
    x=ImageReader(threads=1); x._lines=LineReader.load(W,networks=n); arms[k]=x
for s in ("digital","composed","scans"):
    wrong=collections.Counter(); changed=collections.Counter(); cpu=collections.Counter(); chars=0; n=0; per=[]; med={k:[] for k in arms}
    for p in sorted((U/s).iterdir())[start::stride]:
        q=m[p.stem]
        if q["handwriting"]: continue
        truth=(U/"truth"/p.name/"1.txt").read_text(); n+=1; t={}
        with Image.open(p) as im:
            im.load()
            for k,x in sorted(arms.items(),key=lambda _:random.random()):
                b=time.process_time(); t[k]=x.read(im,dpi=(im.info.get("dpi") or (None,))[0]).text; cpu[k]+=time.process_time()-b
        e={k:score(p.stem,q["category"],truth,Reading(text=v,status="ok"),any_case=q["any_case"]).folded.num_edits for k,v in t.items()}
        chars+=len(truth)
        for k in arms: wrong[k]+=e[k]; changed[k]+=Levenshtein.distance(t["ships"],t[k]); med[k].append(e[k]/max(1,len(truth)))
        per.append((p.stem,e))
    print(f"{s}: {n} pages, {chars} characters; "+"; ".join(f"{k}: wrong {wrong[k]} ({wrong[k]/chars:.3%}), changed {changed[k]}, CPU {1e3*cpu[k]/n:.0f} ms" for k in arms),flush=True)
    for k in arms:
        if k!="ships":
            d=sorted(((e[k]-e["ships"],name) for name,e in per)); print("   ",k,"better",[x for x in d if x[0]<-4][:5],"worse",[x for x in d if x[0]>4][-6:],flush=True)

"""ev.py FOLDER [FINDER_FOLDER|-] [sets] [base]: page texts with a folder's networks against the float dump and truth."""
import sys,json,pickle,time
from pathlib import Path
from collections import defaultdict
from PIL import Image
from rapidfuzz.distance import Levenshtein
from ocr.line_reader.reading import LineReader
from ocr.line_reader.networks import OnnxNetworks
from pipeline.api.image_reader import ImageReader
from tests.benchmarks.quality.readings.engines import Reading
from tests.benchmarks.quality.scoring.scores import score
U=Path("/work/tmp/unseen"); W=Path("ocr/weights/small/lines"); m=json.loads((U/"manifest.json").read_text())["pages"]
R=Path(sys.argv[1]) if sys.argv[1]!="-" else W; F=Path(sys.argv[2]) if sys.argv[2]!="-" else W
sets=(sys.argv[3] if len(sys.argv)>3 else "composed0,digital0,scans0").split(",")
reader=ImageReader(threads=1); n=OnnxNetworks(R); n._finder=OnnxNetworks(F)._finder
reader._lines=LineReader.load(W,networks=n)
for s in sets:
    d=pickle.loads(Path(f"/work/tmp/q/dump/{s}.pkl").read_bytes()); cats=defaultdict(lambda:[0,0,0,0]); worst=[]; t=0
    for k,v in d.items():
        p=next((U/s[:-1]).glob(k+".*"))
        with Image.open(p) as im:
            im.load(); t0=time.process_time(); text=reader.read(im,dpi=(im.info.get("dpi") or (None,))[0]).text; t+=time.process_time()-t0
        truth=(U/"truth"/p.name/"1.txt").read_text()
        sc=[score(k,v["cat"],truth,Reading(text=x,status="ok"),any_case=m[k]["any_case"]).folded for x in (v["text"],text)]
        e=Levenshtein.distance(v["text"],text); c=cats[v["cat"]]
        for i,x in enumerate((e,len(v["text"]),sc[0].num_edits,sc[1].num_edits)): c[i]+=x
        worst.append((e,sc[1].num_edits-sc[0].num_edits,k))
    a=[sum(c[i] for c in cats.values()) for i in range(4)]
    print(f"{s}: changed {a[0]} of {a[1]} (1 of {a[1]/max(1,a[0]):.0f}); wrong {a[2]} -> {a[3]}; CPU {t/len(d):.2f} s a page; {sum(w[0]==0 for w in worst)} of {len(d)} pages equal")
    print("   ",{k:(f"{c[0]}/{c[1]}",c[3]-c[2]) for k,c in cats.items() if c[0]}, sorted(worst)[-4:],flush=True)

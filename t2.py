import time, os, sys, subprocess
from tile_ir.switches import override
from tile_runtime.tools.command_line.kernel_argument import read_kernel
from tile_runtime.simulator.build_simulator import include_directory
from tile_runtime.devices.compile_host import FLAGS
import shutil
sys.path.insert(0,"/tmp/h/w_judge/examples")
nk=read_kernel("/tmp/h/w_judge/examples/01_vector_add.py:vector_add", dict(M=256,N=256,block_M=64))
with override(cache=False):
    k=nk.make()
src=k.files
os.makedirs("/tmp/h/s_judge/cpp",exist_ok=True)
for f in (src.source, src.entry): shutil.copy(f,"/tmp/h/s_judge/cpp/")
print(k.generator.headers, include_directory())
inc=[f"-I{include_directory()}", f"-I{k.generator.headers}"]
names=[f"/tmp/h/s_judge/cpp/{src.source.name}", f"/tmp/h/s_judge/cpp/{src.entry.name}"]
print(open(names[0]).read()[:600]); print(open(names[1]).read()[:800])
def t(cmd,label):
    a=time.time(); u=os.times()
    subprocess.run(cmd,check=True); b=os.times()
    print(label, round(time.time()-a,2), "cpu", round(b.children_user+b.children_system-u.children_user-u.children_system,2))
base=list(FLAGS)
for opt in ("-Os","-O0"):
    fl=[*base,opt]
    t(["g++",*fl,*inc,*names,"-o","/tmp/h/s_judge/o.so"],"plain "+opt)
    hdr="/tmp/h/s_judge/pch%s.h"%opt
    open(hdr,"w").write('#include "kernel_operator.h"\n')
    heads=[l for l in open(names[0]) if l.startswith("#include")]
    open(hdr,"w").write("".join(heads))
    t(["g++",*[f for f in fl if f!="-shared"],*inc,"-x","c++-header",hdr,"-o",hdr+".gch"],"pch")
    t(["g++",*fl,*inc,"-include",hdr,*names,"-o","/tmp/h/s_judge/o.so"],"with pch "+opt)
    t(["g++",*fl,*inc,"-include",hdr,"-c",names[0],"-o","/tmp/h/s_judge/o.o"],"with pch main only"+opt)
    t(["g++",*fl,*inc,"-c",names[1],"-o","/tmp/h/s_judge/o2.o"],"entry only"+opt)
    t(["g++",*fl,*inc,"-include",hdr,"-c",names[1],"-o","/tmp/h/s_judge/o2.o"],"entry only pch"+opt)
    t(["g++","-shared","/tmp/h/s_judge/o.o","/tmp/h/s_judge/o2.o","-o","/tmp/h/s_judge/o.so"],"link"+opt)

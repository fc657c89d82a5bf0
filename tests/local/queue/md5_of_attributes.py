import hashlib,struct
def enc(b): return struct.pack('>I',len(b))+b
def md5(attrs):
    h=hashlib.md5()
    for n in sorted(attrs):
        t,v=attrs[n]
        h.update(enc(n.encode())); h.update(enc(t.encode()))
        if t.startswith('Binary'): h.update(b'\x02'); h.update(enc(v))
        else: h.update(b'\x01'); h.update(enc(v.encode()))
    return h.hexdigest()
A={'kind':('String','live'),'count':('Number.int','42'),'thumb':('Binary.png',b'\x00\xff\x10')}
print('all',md5(A)); print('kind',md5({'kind':A['kind']})); print('thumb', md5({'thumb':A['thumb']})); print('body',hashlib.md5('héllo 😀'.encode()).hexdigest())
print('prefix',md5({'count':A['count']}))

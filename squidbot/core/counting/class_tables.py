"""What the class estimator knows: words, letter pairs, characters, and the weights of their features.

Words, marks and characters are such as take one token in each of the vocabularies that `classes` names, the commonest
first in documentation and source code. The weights are fitted, not chosen: see `classes`.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["HAN", "HANGUL", "HANGUL_FREQUENT", "HAN_FREQUENT", "KANA", "MARKS", "PAIRS", "SPACED_WORDS"]
__all__ += ["SPREAD", "STRANGE", "SYMBOLS", "TWO_TOKEN_RANGES", "WEIGHTS", "WORDS", "Weight"]


class Weight(NamedTuple):
    """What one of a feature adds: thousandths of a token, of a token squared (variance), and strange letters."""

    estimate: int
    bound: int
    variance: int
    strange: int


# Thousandths of a token that the bound stands above the sum, for each token of standard deviation.
SPREAD = 2282
# Thousandths of a token for each strange letter.
STRANGE = 361

# Five words each: feature, estimate, bound, variance, strange letters.
_WEIGHTS = """
letter.lower.spaced 896 1142 0 0  letter.lower.bare 941 1496 0 0  letter.upper.spaced 80 1000 0 0
letter.upper.bare 888 1608 0 0  known.lower.spaced 987 1045 0 -4  known.lower.bare 795 1070 200 -4
known.title.spaced 1063 1410 100 -4  known.title.bare 865 850 300 -4  known.upper.spaced 776 1676 300 -4
known.upper.bare 1007 1838 500 -4  word.lower.spaced 1502 1361 1000 0  word.lower.bare 1465 760 1000 0
word.title.spaced 1333 946 1000 0  word.title.bare 1334 1147 1000 0  word.upper.spaced 1692 1423 1000 0
word.upper.bare 1205 499 1000 0  known.upper.long 0 426 0 0  word.lower.letters 0 0 0 1
word.lower.odd 243 283 0 0  word.lower.long 137 64 0 0  word.title.letters 31 0 0 1  word.title.odd 314 159 0 0
word.title.long 122 82 0 0  word.upper.letters 175 156 0 1  word.upper.odd 0 385 0 0  word.upper.long 138 0 0 0
contraction 0 800 0 0  digit 0 1000 0 0  digits3 1236 116 0 0  escape 842 2136 0 0  escape.n 1196 1999 0 0
escape.t 1023 1872 0 0  escape." 673 243 0 0  mark.spaced 1194 1160 0 0  mark.bare 585 1051 0 0
marks.known 1018 1190 0 0  marks.spaced 1140 1021 0 0  marks.bare 703 528 0 0  marks.change 236 700 300 0
marks.rule 0 509 0 0  marks.repeat 32 509 0 0  newline 944 1458 0 0  newline.more 0 300 0 0
newline.return 39 1110 0 0  newline.tab 108 284 0 0  space 745 966 0 0  spaces 871 608 0 0  space.long 0 450 0 0
tab 845 1000 0 0  tab.more 0 69 0 0  han.common 782 1058 200 0  han.frequent 1029 2302 500 0
han.rare 2256 2446 300 0  kana.common 515 1000 300 0  kana.rare 1706 2145 300 0  hangul.common 657 1132 200 0
hangul.frequent 885 2158 500 0  hangul.rare 2463 2662 300 0  hangul.spaced 0 59 0 0  latin.spaced 0 0 0 0
latin.bare 0 0 0 0  latin.plain 4 226 300 0  latin 1249 1826 300 0  greek.spaced 896 0 0 0
greek.bare 4000 0 0 0  greek 602 1966 300 0  cyrillic.spaced 0 171 0 0  cyrillic.bare 2581 0 0 0
cyrillic 337 1341 300 0  hebrew.spaced 0 0 0 0  hebrew.bare 2149 6 0 0  hebrew 524 1586 300 0
arabic.spaced 0 418 0 0  arabic.bare 1045 0 0 0  arabic 369 1200 300 0  symbol.common 193 1018 0 0
symbol 828 2117 0 0  byte 388 1055 0 0
"""
WEIGHTS = {name: Weight(*map(int, numbers)) for name, *numbers in zip(*[iter(_WEIGHTS.split())] * 5, strict=True)}

# One token with a space before them and without one.
_WORDS = """
aa ab abc ability able about above abs absolute abstract ac acc accept access according account act action actions
activate active activities activity actual ad add added adding additional address admin adv af aff after ag again
against age agent agents ago ai air al alert alg alias align alignment all alloc allow allowed almost alone along
alpha already also alt always am amb among amount an analysis and android ann annotation another ans answer anti any
ap api app append application apply appropriate approved apt ar arch architecture archive are area areas arg args
argument arguments argv arm around arr array arrays arrow art article as ask assert associated ast async at atom
atomic attr attribute attributes au audio auth author authors auto aux av available average await away back backend
background bad ball band bank bar base based bash basic batch bc be because bed been before beg begin being below
ben best better between bg bi big bill bin binary bind binding birth bit bits bl black blank block blocks blog blue
bo body bold book books bool boolean border both bottom bound box br bra brand break brief btn buf buffer bug build
building built bus business but button buy by byte bytes ca cache calendar call callback called can cancel cannot
canvas cap car card care case cases cast cat catch categories category cause cb cc cd ce cell cent center cert cfg
ch change changed changes channel chapter char character charge chars chat check checkbox checked child children
choice choices choose city cl claim class classes clean clear click client clip clock close closed closure cloud cls
cluster cm cmd cmp co code codes col collapse collect collection color colors column columns com come comes comm
command commands comment comments commit common communication community comp company compare compile complete
complex component components compute computer con cond condition conditions conduct conf config configuration
configure confirm conn connect connection cons consider console const constant constants construct construction
constructor cont contact container contains content contents context continue contract control controls conv convert
cookie cool coord copy copyright core correct cost could count counter country course court cover covered cp cr
create created creating creation credit critical cross cs css csv cu cur curr current currently cursor custom
customer cut cv cy da dan dark dat data database date datetime day days db dc dd de dead deal deb debug dec decimal
decode deep def default define defined definition del delete den depth der des desc description design dest
destination destroy detail details dev developer development device di dialog dict did die diff different dig digit
digital dim dir direct direction directory dis disable disabled disc display dist distance div division dl do doc
docs document does dog dom domain don done dot double down download dr draw drive driver drop dropdown ds dst dt du
due dump dynamic ea each early ec echo ed edit editor education ee ef eff effect eg either el elem element elements
elif else em email empty en enable enc encode encoded encoding end endif ends energy eng engine ensure ent enter
entity entries entry enum env environment ep eq equal er err error errors es escape especially essential est et etc
eu ev eval even event events ever every everything ex example examples exc except exception exchange exec execute
exist existing exists exit exp expand expect expected export expr express expression ext extends extension extern
external extra fa face fact factory fail failed failure fair fake fall false family fan far fast fb fd fe feature
features fee feed fetch fi field fields fig figure file filename files fill film filter fin final finally find fine
finished fire first fit five fix fixed fl flag flags flex float floor flow fn focus follow following font foo footer
for force foreach form format former forms forward found four fp fr frame framework free from front fs full fully
fun func function functions future game games ge gen general generate generic get gets git github give given gl
global go goal going good google got gr grant graph gray great green grid group groups guide ha had half hand handle
handler hard has hash hat have having he head header headers heading health heap heart height held hello help helper
her here hex hi hidden hide high highlight his history hit hold holder home hook host hour hours house hover how hp
hr href html http https hub hum human hy icon id idea ident identifier identity ids idx ie if ignore ii il im image
images img imp impl implementation import important in inc include includes including ind index individual inf info
inform information ing inherit init initial initialize inline input ins insert inside inst install instance instead
int integer inter interest interface intern internal into inv invalid io ip ir is iso issue issues ist it item items
iter iterator its iv java je job jobs join js json jun just keep ket key keys keyword keywords kill kind kn know
knowledge known kw kwargs la lab label lambda lang language large las last lat late later latest law layer layout le
lead leading learn learning lease leave led left legal len length les less let letter level li lib library license
life light like likely limit limited line linear lines link linked links lint linux list lists little live ll lo
load loader loading loc local locale location lock log logger logging login long look loop loss lost lot love low
lower ls lt ma mac machine made mag mail main major make making man management manager many map mar margin mark mas
mask master match matches material math matrix max maximum may maybe mb md me mean means measure med media medium
mem member members memory menu merge merged message messages met meta metadata method methods mi micro mid middle
min mind minimum minor minutes miss missing mit mm mo mobile mock mod mode model models modern modified module
modules moment mon money month months mor more most move movie ms msg much mult multi multiple must my na name named
names namespace national native natural nav navigation ne near need neg negative net network never new news next ng
nice no node nodes nom non none nor norm normal not note notes nothing notice nov now np ns null num number numbers
numeric nums ob obj object objects of off offer office official offset often og ok ol old on once one ones online
only op open operation operations operator opt option optional options or ord order org organization orig origin
original os other others otherwise our out output outside over overflow override own owner pa pack package pad
padding page pages paid pair panel paper par para paragraph parallel param parameter parameters params parent
parents parse parser part partial parts party pass password past pat patch path paths pattern patterns pay payload
payment pdf pen people per percent perform performance period person personal pet pg ph phone physical pi pick
picture pid pie piece pieces pin pip pipe pl place placed places plan platform play please plugin plugins plus pm po
pod point pointer points policy pool pop popular por port pos position positions positive possible post posts pot
pow power pr pre precision pred prefix present press pretty prev previous price primary prime print printed printf
priority private pro probably problem proc process processing product production products profile program progress
project projects prop properties property protected proto protocol provided provider proxy pt ptr pub public
published push put px py python qu quality quant que query question questions queue quick quiet quote radius raise
random range rank rate rather raw rb rc re read reader reading ready real really reason rec record red reduce ref
refer reference references reg regex region register registered registry regular rel related relationship relative
release rem remember remove ren render rep repeat replace reply report repository repr represent req request require
required requires res reset resource resources resp respect respond response rest result results ret return returns
reverse review rich right risk ro road role roll roman room root rot round route row rs rule rules run running
runtime rust sa safe said sam same sample san sat save say sc scale schema school scope score screen script scripts
scroll se search sec second seconds secret section security sed see seek seen seg select selected selection selector
self sem send sender sent sep seq sequence ser series serv serve server service services session set sets setting
settings setup sg sh sha shape share shared she shell shift short should show shown si side sidebar sig sign signal
similar simple sin since single site six size sizeof sk skill skills skip sl sleep slice slide slot slow sm small sn
so social socket soft software sol solid solution some something sometimes soon sort sorted sound source sp space
span spec special specific speed split src st stable stack staff stage stand standard star start starting stat state
statement states static status std stem step steps still stop storage store story str stream strict string strings
strip strong struct structure structured stuff style styles su sub subject submit success such suite sum summary sun
sup super support supported surface sv sw switch sym symbol sync sys system sz ta tab table tag tags take talk tar
target task tasks tax tb td te team tele temp template ten term terminal terms test testing tests tex text th than
that the their theme then there these they thing think third this those though thread three threshold through throw
ti til tim time times timestamp tiny title tk tmp to today toggle tok token tom too tool tools top topic total touch
tp tr tra trace track train training trans transfer transform translate transport tree true try ts tt tu tuple turn
tw two txt typ type typedef typename types uint ul um un una undefined under uniform union unique unit units unknown
unless unsigned until up update updated upon upper ur uri url us usable usage use used user username users uses
using usually utf util utility utils val valid validation value values van var variable variables vars ve vector vel
vendor ver verb verbose verify version versions vert vertex vertical very vi via video view views virtual vis
visibility visible vision visit visual void von vs wait walk wall warning was watch water way ways we weak web
website week weight well went were what when where whether which while white who whole whose why wide widget width
will win window windows with within without won word words work working works world worth would wr wrap wrapper
write writer writing written wrong www xml year years yes yet you your zero zip zu
"""
WORDS = frozenset(_WORDS.split())

# One token only with a space before them.
_SPACED_WORDS = """
absolutely acceptance accepted accepting accepts accessed accessing accident accurate achieve acquire acquired
across actually adapt adapted adaptive addition adds adjust adjusted administration advance advantage advertising
advice affect agency agree agreed agreement agrees ahead airline alarm aligned alive allowing allows alternate
alternative annotated annotations anyone anything anywhere apart appear appearance appears appended applicable
applications applied applies appreciate approach approval arbitrary argparse asked asking aspect aspects assertion
assess assigned assignment assist assistance assistant assume asynchronous attached attempt attention attrib
attribution audience authentication authorization authorized autom automatic automatically avoid backup backward
badge barrier bases basis batches baz beautiful became become becomes beginning behalf behavior behaviour behind
believe benchmark benefit benefits beyond bias bitmap blah blend blo blob blocked blocking bom bounding brands bring
broad broadcast brought browser budget buffers bugs bundle bundled cached caching calculated caller calling calls
came camera campaign cancelled candidate canonical capabilities capacity capture captured captures cargo carry
catalog caused causes caution ceiling cele century certain certificate certificates challenge chance changing
channels characters charset checker checking checks chosen chunk chunks cipher citation civil claims classic
classifier clause cleaning cleanup clearly clients closing clusters coherence collapsed collections combination
combine combined comma commentary commercial communicate communities companies compared comparing comparison
comparisons compat compatibility compatible competition competitor compilation compiled compiler completely
completion compliance compound comprehensive compress compressed compression concept concepts concern concerns
concrete concurrent confidence configured confirmation conflict considered considering consist consistent constraint
constraints consult consumer consumption contain contained containers containing contexts continues contrib
contribute contributing contribution contributions contributor contributors convenient conversation conversion
converted converting convey cookies coordinate copied copies copying corner corp corporation correctly correspond
corresponding costs countries counts couple coverage covers crash creates creative credential crypt crypto cultural
cyan daily damage damages dash deals debugging decide decision decisions declarations decoded decoding decoration
dedicated dedication deemed defaults defect defects defines definitions deleted deleting deletion delimiter deliver
delivered delivery dep depend dependencies depending depends deprecated derivative derived described describing
descriptions descriptor designed desired desktop despite detailed detect detected detection detector determine
determined determines develop developed developers developing devices dialect dictionary didn died dif differ
difference difficult digest digits directly directories discard discord discover discovered discuss discussion
dismiss displayed displays distinct distribute distributed distribution divide django documentation documented
documents doesn dogs doing domains dont dotted downloads downstream drawing dry dummy duplicate during dynamically
earlier easier easily east easy eating edits effective effects efficient effort efforts eight electronic embedding
enabled endpoint endpoints engineering enough entered entire entirely entitled enumerate environ equality equation
equipment equivalent escaped esta establish established everyone evidence exact exactly excellent exceptions excess
exclude excluded exclusive executable executed executing execution executor exercise expensive experience experts
expires explain explanation explicit explicitly exponent expressions extend extended extensions extent extract
extremely eyes facilities facility factors fails failures faith familiar families fancy fashion faster fatal favor
favorite federal feel fees fence few fifth figures filtered filters financial finding finish fixes floating folded
folding followed follows forces foreground forget formats formatting foundation fraction freedom fresh fri friendly
frozen functionality furnished further fut futures gather gave gc generally generated generates generation
generations generator getting gives giving goals goes gone govern governed government grab gradient grammar granted
grants graphics gravity greatest grep grouping grow guarantee guidelines guides guy handled handlers handles
handling happen happened happens happy harm heavy helped helpful helping helps hereby herein hierarchy higher
highest highlighting highly himself hint hints holiday homepage hope however huge hypothesis ideas identical
identifiers identify idle ignored ignoring immediately impact implement implementations implemented implementing
implements implied imported importing imports impose improve included inclusion inclusive incompatible incomplete
incorporated increase increased increasing increment incremental indent independent indicate indicated indicates
indicating indicator indices indirect individuals industrial industry infer inference infinite infinity initialized
injection inserted insertion inserts inspect installation installed installing instances instr instruction
instructions insurance integers integral intellectual intended intent interact interactions interactive interested
interesting interfaces interior intermediate international internet interpreted interpreter interrupt invariant
invocation invoke invoked involved isinstance isn itertools itself joined jump junk justify kept keyboard kinds
klass knows labs lack larger largest latin launch laws learned least leaves leaving legacy legally lengths lesser
levels liability libraries licensed licenses lime limitation limitations listener literal litigation lives loads
locals located locks logical longer looked looking looks lookup lose mach machines macros magic mailing maint
maintain maintenance makes manner mantle mapped mapping march marginal marker marketplace markup masks matching
materials matter meaningful meant measures mechanism medical meet mention mesa might migrations million minimal
minute mix mixed modes modification modifications modifier modify modifying modulo monitor monthly motion moved
movement moving mutable mutually myst nature navy nearest nearly necessarily necessary needed needs neither nested
newest noise normalization normalize normalized normally north notices notify noun numbered numpy obligations obtain
obtaining obvious occur occurred occurs offered offering offers offsets olive omitted opacity opened opener opening
operand operating operators opportunities opportunity optimization optimize optionally opts ordinary organizations
outcome outline outputs overall overload overview ownership packages packaging paint pairs parking parsed parsing
particular parties passed passing passport patent patents performed performing perl permanently permission
permissions permit permitted persistent persons pertaining pickle pipeline pixel pixels planning plans platforms
plural pocket pockets policies polygon portions positional potential powerful practice practices prec precedence
predicate prefer preference preferred prepared preparing presence presented preserve preserved prevent preview
previously prices pricing printing prior privacy problems procedure proceed processes produce produced produces
professional profiling prog programming programs prominent promote prompt propagate propagation proper properly
protect protection protocols prototypes provide providers provides providing provision provisions publicity publicly
publish purchase purple purpose purposes putting pw pytest queries quickly quite quoted quotes quoting raised raises
ranges rapid rare raster reach reached readable readers readonly reasonable reasoning reasons receive received
recent recently recipient recipients recommend recommended rectangles recursive recursively reduced refers reflect
regard regarding regardless regions reject relax released releases relevant reliable reload remain remainder remains
removal removed removing rendered replaced replacement reported reports repositories representation representations
representing represents reproduce requested requesting requests requirement requirements research reserve reserved
resize resolution respectively responses responsibility responsible restart restore restriction restrictions
resulting retail retain returned returning reuse reversible reviews revised rgba rights rounding rout royalty rpm
runner runs safety sale salt sampler samples sampling sans saved saving saw saying says scalar schedule scheme sci
science scientific searching secrets sections seeing seeking seem seems selects sell selling semantics sense
sensitive sentence sentences separate separated separately separator sequences servers seven several severity shall
shares sharing shields shipping shortcut shouldn showing shows shutdown signals signature signed significant
significantly silently silver simply sister sites situation sizes slack slightly slots smaller smallest smart
snippet society sock sockets sold solely solo solutions someone sources south spaces spacing spam sparse spawn speak
specifically specification specified specifies specify specifying speech spelled spend spending spirit splice sports
stacked standalone standards started starts startup stated statements stating stay stdin stdout sticky stored stores
straight strategies strategy streaming streams stress stride structures studies study subclass submitted
subscription subsequent substantial substring subtitle subtract successful successfully suf suffix sugar suggest
suit suitable supplied supply supporting supports sure sweet symbols synchronous syntax systems tables tabs taken
takes taking targets teams tear technical techniques technologies technology tell templates temporary terminate
terminated termination tested texts texture textures thank them themes themselves theory therefore thereof thin
things thinking thought thousands thr threaded threading threads thresholds throughout throws till timeout toc todos
together tokens told took toolbar topics torch totally totals toward towards tox traced tracer tracker tracking
trademark trailing trainer traits translations transmission transparent transpose trap traps treat treated treatment
trees trial tried tries triggers trio trip triple truly trunc truncated trust trusted truth trying tun tuples turned
turtle typed typing unable unchanged underlying understand understanding unexpected unittest universal university
unlimited unlock unlocked unpack unused updates upgrade upstream useful utilities variety various videos viewer
violation volatile waiting want wanted wants warn warnings warranty wasn waste weekday welcome whom widgets widths
wild wish wonderful worked workers worldwide worry wrapped wrote yield yields young yourself
"""
SPACED_WORDS = frozenset(_SPACED_WORDS.split())

# The letter pairs that most words are made of: a first letter, then the letters that follow it. Others cost more.
_PAIRS = """
abcdfgiklmnprstuvwxy bacegiloprsuxy cacehiklmoprstuy dabdegiloprsu eabcdefgilmnopqrstvwxy faefilorstuy gaeghilnorsu
haeiortu iabcdefglmnoprstvxz jaeu kaeis lacdefilopstuy mabeilmopsu nacdefgiklmnopstuvy oabcdfgiklmnoprstuvw
padehiloprstuy qu rabcdefgiklmnoprstuvy sacefhiklmnopstuy tacdefhilmoprstuwy uabcdefgilmnprst vaeio waehinors xceipt
yinpst zae
"""
PAIRS = frozenset(group[0] + letter for group in _PAIRS.split() for letter in group[1:])

# Runs of punctuation that are one token; those in the second text have a space before them.
_MARKS = r"""
!) != ![ ") ")) "), "). "); ", "," ". ": ":" ":{" "; "> ">< "></ "] "], "]. "{ "}, #!/ ## ###
################################ %, %; && '" '' ') ')) '), '). '); ', '. ': '; '] ']) '], ']. '{ '} (! (" ("% ("- ($
(' ('- ('< (( () ()) ()); (), (). ().__ (): (); ()[ ()` (){ (* (- (@ ([ (_ (__ ({ )" )", )& )' )( )) ))) )), )); )*
), ),( )-> ). ): ); )[ )] ){ )} *) ** ******************************** **, */ +" +) ++ ++) ++; ," ,$ ,- -- ---
-------------------------------- -. -> ." .", .' .) ., .. ... ._ .__ /" /$ /) /* /** /. // /_ /{ :" :# :% :' :- :/
:// :: :] :` :{ ;; </ << <= =" ="$ =$ =% =' =', =( =- =/ =< == =[ >& >) >, >. >/ >: >:: >< ></ >= >>> >{{ @@ [" ['
[, [- [: [:- [_ ]" ]( ]) ])) ]); ], ]. ]: ]; ][ ]] ]], __ __( __, __. `, `. `: `` ``` {$ {% {' {{ }" }", }' }', })
}); }, }. }/ }: }; }_ }} }},
"""
_SPACED_MARKS = r"""
!= !== "" "") "", "# "$ "${ "% "( "+ ", "," "- "-- ". "/ ": "< "[ "_ "__ $( ${ && '$ '% '' ''' '', ') ', '- '-' '.
'.' '/ '/' '< '_ '__ '{ (! (" (# ($ (% (%) (' (( () (* (- (< (? (@ (_ (` ); *( *) ** *, */ += -- --> -= -> .. ... /*
/** // :: </ << <= == === => >= >> >>> @@ [" [' [( [- [] [], ], ]; __ `` {" {% {' {{ {} |= || }, }; }} }}" }}</
"""
_QUOTES = {'"""', ' """'}
MARKS = frozenset(_MARKS.split()).union((" " + mark for mark in _SPACED_MARKS.split()), _QUOTES)

# Characters of one token in each vocabulary; the frequent ones are one token in most of them.
HAN = (
    "一万三上下不与专业东两个中为主么义之也书了事二于五些交产京人今从他付代以们件价任份企会传但位体何余作你使例供保信"
    "修值停像元先入全公共关其具内册再写出击分列则初利别到制前力功加务动動包化北区十华单南即历原去县参及反发取变口只可"
    "台右号司合同名后向否含启告员周命和品哈商器四回因国图土在地场型城基報場增处备复外多大天失头好如始子字存学安完定实"
    "客家容密对导将小少尔就局展山州工左已市布常平年并广序库应店度建开式引张当录形影径待後得微心必志态思性总息您情意感"
    "成我或户所手打技投报拉持指按换据排接推提播支收改放政效数整文料断新方族无日时明易星是時景更最月有服期未本机权束条"
    "来板构果查标样格案模次止正此步段每比民水求江没治法注活流海消清游源点然片版物特率环现理生用由电画界登的目直相省看"
    "真知码确示社票种科秒称移程空立站章端符第等简算管类系素索约级线组经结给统编网置老考者而联能自至色节英藏行表装西要"
    "见规视角解言計计认议记论设证评试话该语误说请读调象责败费资起超路身车转载辑输达过运近还这进连述退送选通速造道部都"
    "配释里重量金错长開間関门闭问间队阳陆限院除集需非面音页项题首验高黑"
)
HAN_FREQUENT = (
    "丁七丈且世严並串临丹丽举乃久乌乎乐乔乗乘九习买乱予争云互井亚亞亡亦享亮亲亿什仁仅介仍仓仕仙令伊伍休众优伙伝伤伦伯"
    "估伴伸似低住佐佛佩佳來依価便係俄俊俗俺個倍們倒候倫假做健偶備储催傷億優儿兄充光克免党內兩八六兰兴兵典兼円军农冠冬"
    "决况冷准凌减几凡切刊刑划刚创删判別刻則剧剩副割創劇办助劳勇勒務勝勢匹医區千升午半協博占卡卢卫印危却卷压厘參又友双"
    "受古句另叫史叶吃各吉吗君吧吨听吸吹呀呢味呵呼响員哥哦哪哲唐售唯唱啊問啦善喊喜單嗯嘉嘿团困围圈國園團圣址坂均坐块坚"
    "坡坦埃域堂堡塔塞填境増墨士声売変夏夕夜够夢太夫央夹奇奈契奖奥女奴她妈妻姆姐委姿威娘娜婚嫌孔孟季孩學宁它宇守宋宏宗"
    "官宝実审宣室宮害宽宿富察實寸寺対封射將專對導尚尤尺尼尽尾层居届屋屏属岁岛岩岸峰島崎川巨差己巴币师希帝带師席帮帰帶"
    "幅幕干幸幻庄庆底府座庫庭康廉廣延廷异弗弟弱張強弹强归彦彩役彼往征很律徒從御復德忘忠快念怎怒怕怖急怪恐恩恶悪悲惊惜"
    "想愛愿態慢應戏战截戰戴房才托执扩批找承把抗折抱担拜拟择括拿振捕损授掉探控描換援搜摇摘摩撒擊操據攻故敏救敗教敢散敦"
    "敬數斗斤斯於施旅旋旗既旦旧早旬昌昔映春昨昭显晋晚晨普智暗暴曜曰曲書曼曾替會朋朗望朝木末札术朱杀杂杉李材村杜杯杰東"
    "松极析林枚架柏某栏树校株核根框桑档梁梅條检棒森楚業楼楽概構様樂樓標横橋機權欢欧欲款歉歌武歩歲歳歷死殊残殺母毕毛毫"
    "氏气気氣永汉池汤決汽沃沉沙河油況波泰泳洋洛津洲派测济浜浦浩浮深混渐減渡温港湖湾準滑满滤演澳激灣火灵炮為烈热無照熊"
    "熱爆爱爵父爷爸牌牙牛犯状独猜玉王玛班現球瑞環瓦甚産田甲申男町留略番畫當疑疲病痛発發白百皆皇皮益监盗盘盛盟監盤県眼"
    "着睛督瞬矩短石研破確礼祖神祭禁福离秀私秋秘秦积稍税種稱稿穆積究突窗竟競竹笑答策签箱節篇篮簡籍米精糕紀約紅納級紧細"
    "終組結給統經続維網線編總績續红纪纯纳纽练细织终绘络绝继续维缩罗罪署羅美群義羽翌翻翼耳职聚聞聯聲職肉股肩肯育背胜胡"
    "脱脸臣致臺與興舞般船良艺艾芬花苏若苦范草荣荷莉莎莫莱获菜華菲营萨萬落葉著蒂蒙藤虑處號融血術街衛衣补被裁裏裕補製見"
    "規視覚親觀观览觉記設許評詞試話詳誉認語說読誰課調談論謝警議護订让训讲许访识诉词译诗诚询详诸诺课谁谈谓谢谷負費資賞"
    "質贝负财账货质购贵赛赤赫走越趣足距跳車軍載輪輯輸轮软轴轻较辆辛辦边込迈迎返远迪追逃逆逊透逐递途這連週進遇遊運遍過"
    "達違遗遠適遭選那邦邮郎酒采野鉴銀錄针钟钮钱银链销键長門閉關闻阪防阵阶阿附际降险陽隆隊階随隔際难雄雅離難雨雪零雷電"
    "震霍青静革韓韩響頁項預領頭題願類顺须顾顿预领频颜额風风飛飞食館饭馆香馬马體鬼魔鲁鳥鹿麗麦麻黃黄黎默點龍龙"
)
HANGUL = (
    "가간개게경고과구그기나내는니다당대도동되된드들라래러력로료를름리만면문미번보복부분사산상색서성세소수스습시식아야"
    "어에여열오와요용우원위으은을음의이인일입자작장재전정제주지째치크터트하한할해호화환"
)
HANGUL_FREQUENT = (
    "각갈감값강거건검것겠겨격견결계곡공관광교국군권규균극근글금급길김까께난날남났너널네녀년념노누느늘능님단달담답더던"
    "데델독될두득든등디때락란람랑랜략량런럼럽렇레려련렬령례록론루류률르른릭린림립링마막말망매머메며명모목무물민밀바박"
    "반받발방배백버범법베변별병본북불브블비살삼생석선설센션속손송순술승신실심십써씨악안암았앙애액약양억언업없엇었역연"
    "염였영예온올왕외운울움워월유육율응익임있잡쟁저적절점접젝져졌조족존종준중즈즘증직진질집징짜쪽차착찰창책처천철청체"
    "쳐초최추축출충취츠측층칙친칠침카케코클키타탄탈태택턴테템토통투특튼티팅파판패퍼페편평포표품퓨프플피필학함합항했행"
    "향험현협형확활황회획효후희히"
)
KANA = (
    "あいうえおかがきくけこさしすせそただちっつてでとどなにのはばまみめもやよらりるれわをんアィイウェエオカキクグコサ"
    "シジスセタッテデトドパフブプマムメュョラリルレロン・ー"
)
SYMBOLS = frozenset(
    "\u00a1\u00a3\u00a7\u00a9\u00ab\u00ad\u00ae\u00b0\u00b1\u00b2\u00b3\u00b4\u00b7\u00b9\u00bb\u00bf\u00d7\u2010"
    "\u2011\u2013\u2014\u2015\u2018\u2019\u201c\u201d\u201e\u2020\u2022\u2026\u2032\u2033\u2192\u2212\u2500\u2588"
    "\u25a0\u25cf\u3000\u3001\u3002\u300c\u300d\u3010\u3011\uff01\uff08\uff09\uff0c\uff0d\uff0e\uff0f\uff10\uff11"
    "\uff12\uff13\uff14\uff15\uff16\uff17\uff18\uff19\uff1a\uff1b\uff1e\uff1f\uff5e"
)
# Blocks whose characters are two tokens at most, each on its own.
TWO_TOKEN_RANGES = (
    (0x0900, 0x0957),
    (0x0960, 0x09DB),
    (0x0B80, 0x0C3F),
    (0x0C80, 0x0CBF),
    (0x0D00, 0x0D3F),
    (0x0E00, 0x0E32),
    (0x0E34, 0x0E7F),
    (0x1000, 0x103F),
    (0x10C0, 0x10FF),
    (0x1E9B, 0x1EFF),
    (0x2000, 0x2035),
    (0x2038, 0x208E),
    (0x2200, 0x222B),
    (0x2231, 0x227F),
    (0x2500, 0x267F),
    (0x3000, 0x309A),
    (0x30FB, 0x30FF),
    (0xFF01, 0xFF5E),
)

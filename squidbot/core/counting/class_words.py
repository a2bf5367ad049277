"""What words cost: the commonest ones of the published vocabularies, with the most that any of these takes for each.

Facts of the vocabularies that `classes` names: a word is here if one of its forms is a token in o200k, cl100k, Llama 3,
Llama 4 and Qwen 3.6, those of lowest rank first. Six digits stand before the words that they hold for: the tokens of
the word as it is, with a space before it, with a capital, with both, in capitals, and in capitals with a space; 0 for
more than three. Each is the largest count of any vocabulary, and of the word behind any mark or before or behind
another hump of a name, where it is sometimes more than alone.
"""

from __future__ import annotations

__all__ = ["COSTS"]

# Made by a program from the vocabularies; changed by hand nowhere.
COSTS = """
122222 abad abama aban abe abel abet abeth abi abil abl abled ables abo aca acci acco aced acent acer aces aci acing
acion acity acle acles aco acon acos acter acters actic acy adal adas adata adb adder addle addy ade aded ader aders
adh adi adic adin ading adio adir ado ador ados adt ady afa afe afi aga agan agem agen ager agers agh agi agle agn
agne agra agram ags agt agu ague aha ahan ahi ahl ahn aho ahr ahu aign ail aine aint aire airo ait aja ajo ake aked
aken aker akers akes akh aki aking akk ako aks aku aky ala alam aland alar aled aler ales alf alin aling alis ality
alled allery allet alling alls alm alo alog alon alsa alse alth aly ama aman amas amat ame ament aments amic amil amin
amine aming aml amm amma amo amon amos ams amt amu amus anca ance ances anche ancy anda andal ande anded ander andi
andid andin andle andler ando andom andro ands ane anel anes ani ania anic anie anka anks annel anner anni annon anny
anol anon ansi anst anta anto antom anut anya anye anz anza apa ape aped aper apes aph aping apis apon apor appa apped
apper apping appings appy aps apse aq aque aram aran arat arde arden ardo ards ared arel arem ares arest aret arf arga
arge arger arget argo aria aring aris arity arks arl arma arna arning aro aron arp arse arta arten arth artment aru
asan asant ased aser ases asha ashi asi asic asing asion asis aska asm asma aso ason asper asse asses assword asta
aste asted aster asters astic asting astro asts asy atable atal atan atar atas aten atern ates atest atform ati atic
atics atile atin ating atio atis ato aton ators atory atos atra atre atro ats atta atter attern atti atu atum atur
atus atype atz auer aul ault ause ava avan avar aved avel aven aves avi avia avid avin aving avis avo avor avy awa awi
axy aya ays aza azar aze azi azine azu azy azz bage beit bers bery bia bial bian bie bing bles bling bral cale caster
cca ccc ccess cci ccion cdn cean ced ceed cek cen cence cep cept cers cery cession chas ched ches chet ching chn chs
cht cid cie cing cio cion cke cker cko cks cles clus concat conom cpp cpy creen crement cret crete crets ctic ction
ctl ctor ctype cz dater dbc dbo ded ders duc duction ead ean earch eca ecd ection eda ede eded eder edi edic edin
eding eds edy ees efe eger eing eks ekt eland eler elig eline eling elled elles ello ellow elm eln elo els elt elve
ely ema eme emen ement emia emin emo emon emos empl ems emu emy ena ename enci encial enda endant endar endas enden
endent ender enders endl endo endor endum ene ened enen ener enes eness ength eni enia ening enn eno enos enses enta
ental ente ented entes enti entin ention ento enty enu eny enz enza eper eral eras erc erce erd ered eres erg eri
ering erk erna erno eron erte erto erv esar esch esh esis esses ested ester estic ests esty etal etch ete eten eter
ethe eti etic etics etime eting eto eton etry ets ety etz fang fas fect fers ffe ffect ffen ffer ffic forge ften fter
ftime gage geb gence gend gers ghan ght gia gie ging gio gment gom gos gow gree gres gress gue gz hai hea hee heet
heid heim heit hib hir hma hn hw iac iah iais iam iana iance ians iant iao iar ias iat iate iation iaz iba iban ibe
iben iber ibi ibil ibo ibr ibu ibus ica ican icate iced iche icing icion icip icit icle ico icode icol icos icro ict
iction icut icz ida idable idad idal idas iday idd ided idel iden idence idents ider iders ides idge idget iding idity
idl ido idor idos idth idy ied ief ieg iek iel iele iem ien ience ients ier iero iers iert iest iet ieu ieur iev iew
iez ifa ife ifen ifer ifest ific iform ifs iful iga igan ige igen iger igers igg igi igne igo igos igs igt igu igue
ija ijk ijo ika ikan ike iken iker ikh iki ikit ikk iko ikt iku ila ilar ilation ilde iled iler iles ilet ili ilib
ilight iline iling ilit ility ilk ille ilo ilon ilot ilst ilt ilty ily ima imal iman imas imate imb imen iment imer
imi imir imit imon imos imple ims imum ina inal ince inction inda inded inden inder indi indo inds inea ined inen
inent iner inery ines iness inet inge inger ingo inha inho inin ining inite inition inity inks ino inos insi inson
inta inth inton ints inux inx iny inz iod iol ione ior iors ios iot ious ipe iped iper ipes iph iple ipment ipo ipp
ipro ipse ipt ipy iqu iral iras irc ird ire irect ired ires iri iring irit irk irl irm iro iros irst irt irth irus iry
isan isation isc isch ische ise iser ises isha ishi isi isin ising isis isk iska isl ism isms ison isp issa issan
issance isse ission isson iste istem ister isto ists isy ita itable itage itan itant itar itary itas itat itate itated
itation itch ited iten ites itet iti ities itime iting itis itled ito itol itor itors itos itr itt itu itud iture itus
itz ium ius iva ivable ival ivar ivas ivation ived ivel iven ivers ivi ivia ivil iving ivo ivos iw ixa ixin ixo iy iza
izz jang jas jj jm jn jpg jt kd kee keit kers kip kk ksi kte ktop lage lash lass lated lation lear lec lection ledge
leen leet lep lers lez lia lice lices lier liers lings lio lish lj lk lla lle lli llib loat loe lop lx ments mers mith
nah nama nant nda ndef nder nea neath nee ners nes ness ney nez nia nin nings nis nown npm nte nten oad oba obar obb
obe obi obic obil obo obre oby oca ocal oci ocity ock oco ocol ocr ocs ocus ocy oda odal oday odb oded oden odge odi
oding odos ods oes offs oga oge ogg ogn ogo ogr ogram ogs ohl ohn oi oid oids oin oint oir ois oj oka oke oked oken
oker okes oki okia oking oko oks oku ola olan olar olds oled oles olf oli olic olid olin oline olis olk oll olo olog
ols olt olution olve olver oly oma omal oman omas omb ome omen omer omi omic omics omin oming omm omo omon omp oms omy
ona onal ond oned onen oner oney oni onia onic oning onn ono ons ony onz ood ook ool oom oon oor oot opa opard opath
ope oped opes oph opic oping ople opo opol opro opy ora orable orage oran oration orc ordo ords ored orem orer ores
orf orge oric oring oris ork orn orna orne orno oro orp orph orr orrow orse orte orts orum orus osa ose oser oses osh
osi osing osis osity oso oster ota oted oter otes otic oting otion oton otor otos ots otype oud oul oun ound ount oup
ource ouri ous ouse oust oute outes outh outine outing oux ova ove oved ovi ovo owa ows oy oya paration paring peat
pect peed pez pha phan phant phis phy pite pler plex pline pling plit poon posal poser posite posta pped pping pread
ptic ptide ption pton pty pus putation puted qa qd qp qq qs quence quent ques quet quin quis raction rade raft rais
rait ral rame rance rans rant rar rase rawl rea reas reat reate reated redit reen rees reet regon rei rek rell rels
reme rena resa reso ress resse retch rett rew rho ria rial rian rical rices rics rie ried riel rier ries rift rij rik
ril rine rique rir rist rite rition rium rive rix riz roe roid roit rong ront ror rost rote rous rov rove rown rup rys
rz scription sek seud sku sson stad stag stant sted stell sten stit stmt ston stract strom strument sts stu tain tbody
tein tek tera tered ters tery tha thal thead thon thur tic tings tion tml tos tras trl tte ttp tz uan uant uar uart
uary uation uba ube ubs uby uccess uce uced uch uchar ucion uck uct uction uda udd ude uder udi udo uds ued uel uen
uent uer ues uest uez uff uga uge ugg ugh ugi uil uing uir uis uit uite uits uity uj uka uke uki uku ula ular ulas
ulate ulated ulation ulator uler ules ulf uli ulin uling ulk ulle ulo ulos ulp uls ulse ulu ului ulum ulus uly uman
umar umas umb umen umer umi umin uming umm umn ump ums unal unch unct unes ung unik uning unj unk unque unte uo upa
uper uple upt ura urable ural uran uras uration urb urch ured urer urers ures urf urger uries uring urity urm uro uron
urre urs urse urst urt uru ury usal usc usch useum ushi usi usic usion usk usp usr uster uta utable utation uted uten
uter utes uti uting utm uto utor utos uts utt uty utz uu uve uvre uw uy uz uzz vard ved veis vens vere vey vh vier vim
ving vre vv vw wan wap ween weet weg wend wert wick wl wn wort xa xb xc xd xf xff xic ximo xit xo xyz yal yb yc yd
yect yers yg ying yk yl ylan yle yles yll ym ync ynn yon ysql yst yster yt yw yx yz zan zar zas zb zd zed zek zel zent
zes zial zie zin zing zk zm zn zon zos zs zt zy
212233 abnormal abortion abroad absent acceler accessing accident accidents accountable accounted accurate accused
acquire acquired actress addict addiction additions addresses addressing administer admission adopt adoption advers
adverse advert advice advis advise advoc affair affect afford aggreg aggress agrees airline albums alerts aligned
alike aliqu allem allies allocated allocation allowance allowing allows alloy altered altitude amateur ambient amended
amigos amino analy angry anthrop anybody apartment aplic apolog appear applicable applicant applies appoint appropri
approval approve approx aqui argues arise arising arrive arrows ascending asleep aspir assess assigned assim assist
assists assure atoms attract attraction augment aura autumn avait avoir awake awful backdrop backpack backward
backyard bacter bacterial bags baked baking ballot balls banana banking banned banner baseline batter beaches bearing
beast beaten beating beats beds beef began behave belie belle belly belong bene beside bibli bikes billing billion
bins blame blocked blocking blown boats bodies boiler bonds bonne bonus booked boots borders bored boring borrow
bounce boundary bounding boxes bracket brains brake brands brave breach breast breat breath breed brill bringing broke
bronze brows browse bubble buffers buildings bulk bullet bunch burden buried burned burning buses busy butt buyer
buyers buying bzw cabe cabin cables cached camping camps candid candle capacity caption caracter cardiac careers cares
cargo carried carrier carries carry casting catching categor cattle caught caused causes ceiling centered centres cerv
cette chains chances channels chaos chapters chaque chunk citation cited citing ciudad clarity classe clever clicked
clicking cliente closer closes closest closet closure cloth clothing clubs clues coaches coaching coating coinc coins
collar collision colored colspan combat combin combust commentary commented commitment compiled complet complic comply
compound compress conception concern concert concluded conclusions concurrent confer confront connecting connections
connector connects consent consist consists consume contacted contained containing contempl contour contractor
contrast contrib convers converts convey convin cooked cookies cooking cooler cooling coordin copied copies copper
copying cosa cosas cosm costly costs costume couch couldn counts couple couples coupon courage courses coverage
covering covers credits creep critic crops crude crushed crushing crying cubic cups customers cycles cycling dado
dados damages damit damn dangers dann databases datasets deadline deadly dealer dealing deals debate debris debut
decades decay declar declare decline decoded dedic deeper defendant defender defending deferred deficit defines
defining definit definite delays deleg deletion delicate demand demol denied denomin dental depend deposit depress
designed desire desired desires destin detailed determin devast deviation diagn diagram dich didn difer differ differs
dimin dining directed directly disabled disaster disclose discord discre discret discuss dishes dispar displayed
displaying displays dispon dispos dispose disput disse distant doesn doll domains dominant dominated dough downloading
downloads downward dozen drain drawer drawings drawn draws dreams dried drift drill driven drivers driving drones
drops drove drunk drying dumb dummy durable durch dying dyn eager earning eaten eating editorial effic eighth einen
einer eines einf elected elections electr eleg elemento elementos elev eleven emails embod emerge emotion empir
empower encore endless engaged engagement engaging engines enrolled entire entitled entrance environ equality equip
equity escaped estamos estimation evangel evenly exactly examine exams excav exceed excell excess excluded exclusion
exclusive execut exempl exerc exhaust exhib existe existed existence exotic expans expectation expecting expects exped
expend expense experi expire expired expires explan explic explo explos exponent exported exposed expres extraction
extras faced facial facile facing factories factors facts failing fails faire falling fals falta famil fancy fantas
farmer farms fashion fastest fatty favor favour feeding feeds feeling feels femin fiber fich fighter fights figured
figures filing fille filling fills filtered filtering filtr financ finances findings finest finger finished finishes
finishing firing fiscal fishing fixes fixing flame flatten flav flaw flee flexible flights flour flowing flows flutter
focal folders fond fonts foods footage forcing foreach forests forever formats forums founded founder founding fract
franch fraud freed freel freq frequ fridge fuck fuels fuer funcion funded funding funds fung funny gained gaining
gains gaming ganz garage garant gases gather gauge gegen genres gente gently gesture gibt gifts giving glasses gloss
gluten goals gonna graded gradu grain granted grants graphs grav grave gravel grief grill grip growing grown guess
guidance guided guides guilt guys habe haben habit hacer hadn handed handled handles handy hanging harder harness
harsh hasn hasta hatte hazard headed healing hearts heating helps hereby heter hiding hiking hints hiring histor hobby
holders homes homme honest honour hoped hopes hoping hora horas hosted hosting hosts hourly huge humans humble humor
hurt iconic identical identify ihn illeg imagen immense impacts impair implemented implements imply importance
imported imports impose impression improve inaug inches included inclusion inclusive incoming incred indicate indirect
individ indoor induction infection infinite influ informal informations inhab inher inhib inicial inicio injected
innings innoc innov insect inspect instanceof instinct instruct insult intake integr intended intensity intention
interess intervention intimate introdu invention inverse inversion invert invisible invite invol isinstance isolated
isolation itself jacket jeans joints joke jokes juice jumped jumping jumps junk jury justify kann keras kicked kicks
killed killing kills kinda kinds knee knock kommer lacks ladder lado laps laptop larger largest lately latent lateral
latter laugh lawn lazy leads leaks learned leather lecture legit lemon lending lenses lesser lesson levels liber lieu
lifting lighter lighting lightly lightning ligne liked likes lingu linking liquid litter lived lleg lobby locales
locally longer longest looked lookup loops loose losing losses loved lovers loves loving lowered luego lugar lumin
lunch lungs machen magical magn mailing mainstream makeup malware mamm manga manner mapped marry mascul masks massage
masses matching maximal maximize meals meaning meets melt memorable memories menor menos menus meses mesmo midst mieux
milit minds minimal minimize minutos misma mismo missile mixer mixing mobil modeling moins months moral mortal mostly
mothers motiv mounted mounting moved moves multip mundo mutual nails naked naming narrow navig nearby nearest needed
needing needle nested networking niche nicht nickname nights nomin normalize norms notably notebook noticed notified
novels nucle numpy nurse nuts obey objet obtain occas occur offered offering offerings offsets oils oldest opacity
operand operate operated optical organs origins orphan otras outcome outdoors outgoing outlets outlook packages packed
packing packs paddle painted painter painting pandas parcel parking parole parsed parsing particles partie partir
passer passing passive pasta pastor patches pathway pathways paused paying peaks pelo penal pendant penis penny
peoples perception performing performs perimeter perman permits perpet persist persona personas personne persons persu
peso phases piano picked picking pickle picks pickup pieces pills pione pipes pivot planned planted plasma plastic
plates playback playground playoff pleased plural pocket poder pointed pointing poison poker policies polling polls
pollution polym polymer pond pools porn porque portions positioned positioning possess possession potent pounds powder
preced precip precis prefer prejud preparation prepared preparing prescription pressing prima printer privat probable
proceed produce profess profession profits profound programa programs prohib projet promin promot promote propag
proportion proposal proposed propri prostate protests proved proves provided provides proving provision pulling pulls
pulse pumps punch punct punto purely pushed pushing putting puzzle quadr quando quasi queries quicker quickly quota
quoted quotes races raises ranges ranging ranked ranking rankings ranks ratings rats reached reaches reaching reactor
readily readonly reass reboot reception receptor recession recomm reconc recover reduced reducer referred referring
refined reflect reflection reforms refuge refused regarded regards regions regulate regulator rejected relate relax
releases relies relig reluct remain remains remarks reminded reminder reminds removal renov rental repair repet replay
replic replies reported reprodu reputation rescue reserv residence resident residents residual resistant restore
restrict retail retain retention retire retired retreat returning revers reviewed reviewing reward riders riding rival
robust rocks rounds routine routing ruin ruling runners rushed saber safer sala salad saves saving saying says scalar
scaled scales scaling scandal scanning scared scatter scenes schon scored scoring screening screens screw scrolling
sealed searching seating seats secrets sectors secular secured seeds seeking segments selbst selections sellers
selling sells semantic semester sending sends sensation senses sensors sentence sequel severe severity sexual shades
shaft shallow shaped shapes shares sharing sheep sheer shelf shifted shifting shifts shipment ships shirt shirts shook
shops shorts showed showing shrink shutdown sich sides sido signing silent silly sinc singing sino sins sisters situ
sized sizeof sizes sketch skilled skills skirt sklearn slave slices slider slides sliding slope slots slower slowly
smaller smell smile smiled smooth sobre socks soda sooner sorting sorts sounded spaces spacing sparse specification
specify spending sphere spinning spins splash spoke spons spots spouse stabil stair stake stands starter stations
stays stdout steal steep stellar sticks sticky stiff stitch stocks stops stored storing strain stranger streak stretch
struck stuck stunning styl submission subsid substance successor suffix suicide suitable suited suiv sulf summar sung
sunny supplement supporting surf surg surge surname surv suscept susp sustain symbols sympt synth tagged talent talks
tanks tanto tape tarde targeted targeting targets taste taught taxes taxi teaches teaching telling tells temper tempo
tempor tender tends termination terrain terrible texto texts textures themes theories thereby thereof therm thesis
thinks threading threads threat threw thrive throwing thrown throws thrust ticks tiene tiles tilt timeline timing
tires titled titles toda todos toilet tokens toler tomar topics tough tourist tourists toute toutes towns toxic traces
tracked tracker tracks traded trader trades trails trains traits transc transf transl trapped treated trend trials
tricks trivial trois trou truck truly trunk trusted tubes tudo tune tuned tuning turb turned turning turns tutor tweet
twice twist typed typename typing ugly unclear uncover unfair unfold unified uniqu unittest unpack unser unstable
unused unusual upcoming upstream upward utilize vague validated validity valores valued vapor variance variation
varied veces vectors vibr viele viewed viewer viewers viewing violated violation viral virus visits vital vivo voted
voter votes voting waited walks wallet wanted wants warnings washed washing waste watched watches watching waves
weekend weeks weighted weird weiter wenn weren whilst whisk wholes wider wieder willing winds winners wird wires
wiring wished wishes wooden workflow workforce workplace workspace worn worry worse worst wounded wounds wrapped wrist
writes wrote yearly yeast zinc zones zwei
212222 abort abund accent accord accum accur accus acid acids acqu acted adip adm admit aest agree ahead aide aims
algo alive alles allo alors amend amid ampl andere anime anos anx anywhere aos appar appet appl applic apro arbit argc
armor arom artic artwork aspect attain auction aument avant avec backed backing bail bake barg basement bases beet beh
beim beings bem bend bent bey bez bias bien bike biod bip bite biz blink blob bloc blow blur boom bore bother bout
brass brings brush brut bump bust cada caf cage cake campo cand cans capable capac cara caract carb cardi caring carp
casa cascade cater caus caut caution cease cement cents cere cet cham charm chick chill chim chord cig clan clas clim
clo clue coat coc coff coil colle coment comma comme compl conce conclude condu conform conj conna conoc conqu conse
consum conta contain contra conven conver cope cores counted counties counting coup cous crack crash creature cref
crop crush crust cual cuid cure cush cust cute cycl cyl cyn damp dare dass dealt debe debit debt decade dece decre
deer defe defect defend defer defin deix dense dent depart deport depos dere descent dese desk desp deter deux deve
dial dias dice died dif dign dijo dile dirt dise dish disp diss dive diver diz dois doit dont dorm dose doses doub
dove dread dress drink drives drone dtype dual duas dug duo dut dys earn eas ease eat eben ecc econ editable editing
editors efect efter eig elim emot enf engage enh enorm entend envi epid erase erect erf erre erro erst escol esper
estar estas estim esto estud exclude exclus exert exper expose extr fade fais fait fans fasc faster faut fav faz fears
feas feat fees feet fell fem fence fert fet fever fid fier fif filed fim fines fing fir fired fires fits fj fled flick
flo fluid flux foc fog foi fool foram forg forma formal fos foss fost foul fps frag fram fres fright fue fug fuse gad
gag gave gef geht gig gives gj glance gli glo glow glue glut gover gras grat gri grind grow grup gum gut hac hace harm
hast hate headline heal heard heated hect hers hij hired hog horm hrs hue hug hyp idle ihr imag imped imper incon
incre increment indef indiv indu inev infl infra inj inning inp inserted insertion instr intact intend intens intest
intim intr intra intro invent irre isn isso jaw jed jest jog jou jwt keen keine kept kits klass kne knew lack lact
laid larg lbl lbs leap lend lens leuk lhs liable lien lif lift lime lineup lips liqu lith llam loads loans locale
locate located logical lors lose loses loud lover lug lui macros maint males mater mature maze meant meas mehr meine
memb memor meu mice mild mines minha minim mining minute modes modest modo moi moist mole mood mou moy mud mug mush
nada nail narc neat nem neon neue neur neut newer newest newly newsp nib noch nod nog nood noon nose nota notable
noted notices noting notion noun nour nous nud nude nue nullable numer numero nun obsc obst obt odds offense offers
offic offices ohne onion opener opin opts orbit ordering otra otro outro outros oven pads pai pale pant paras parce
pars parte partic parties partly pays peek peers pem pens peque perce perf perme permit pest peu peut pile pill pint
pist piv pix pla plac plag poc pode poem poet pois polic portable poses postal posted poster posting pou pound prag
pray prefix prend prep prepar prest prey prices pris probl proble proced prog prol prone proper proport propose prosec
prost prote proud prove proven prox puis punt pup puzz pytest quand qued quem ramp reach readable readers reads recept
recess recon recre redu refere refers reflex refund refuse regard regul rehe reign reject relay reli rely remot repe
repl repos repro reput resc resid resign resist resize reson resort retro reun reuse reve reven rhet rhs rien rings
rode roof rope sail sais sake samp sap scal scary scen scent scre seam secre seem sees sehr seine seiz sell sera sess
seu seus sevent shade shall shame shed shoe shout shower shut shy sick sight simpl sind sine sink sist sits sj skull
sla slab sle slic slight slim slip slog slut smo sne soap sock sod sog soil soir soit sont sop sore sour sous sow spam
spare spend spent spine spite spont spray spre sque stages stap stare stated stating stip stor strand stret stride
strive stro stub sua suas subs suc succ suck suis suit suits suma summ sums sust swim swing swo sx syst tabs tack tact
tale tant tard tbl teach tear tears teas teens teeth tend tens tent tested tester theft them thick thin tho thou tide
tie tied tier tight timed timely tin tipo tips tire tired toast tod toe told tone took tooth tops toss tous tout tox
toys tract trap trash trat tray trem tres trick trig trips trop tub tum twe uncon unf unic unlock unos unve unw urge
urine usar vag vai vain valve vara varies vary vast vault vend viable viel visa voices vom voor vot vou vra vz wage
wages warn wax weed weigh weil whom wifi wines winning wir wore worked workout worm wound writ wur xmlns zap zum zwe
212200 absence absolutely accessed accessibility accessible accessories acquisition actively adaptive addressed
adjusted admissions admitted advances advised advisor advocate affected affili affirm afternoon aggregate aggressive
airplane airports algebra algorithms alongside alphabet alternate alternatives amounts analyses analyst analyzed
anniversary announce announced annually anonym anterior antioxid appointment approached approaches approaching
approved argparse arithmetic arrived arriving artificial artistic assass assault assemble assessed assisted assumed
assumes assumption assurance assured attitudes attorneys audience authorities backwards balancing bandwidth bedroom
bedrooms behalf belief believe believes belongs beloved benchmark besoin billions birthday blades blockchain bonuses
bought boundaries boyfriend breaking breaks brightness broker brought builds businesses calculated calculation
calibration candidates capabilities capability captured carefully carriers carrying cellular centuries certificates
certified chairs characteristic characteristics characterized chemicals childhood chocolate churches cipher circular
clouds coefficient collabor collapse collapsed colours combination combines combining committed communities
compatibility compelling compilation complications composed compounds compressed comprising concepts conferences
confidence confident confidential configurations configured confirmation confirmed confusing confusion connectivity
consensus consequence considers consisted consistent consisting consolid constantly constructed contempor contexts
continually continued continuing contribute contributed contributes contribution contributions contributor
contributors conventional conversions converted converting convince cooperation coordinate coordination correlated
correlation correspond corrupt corruption counterparts counters coupled credential crimes crossed crossing crystals
currencies curriculum customize customized customs cutting damaged damaging dancing darkness dataframe daughter
daughters declared deemed defensive definitely degrees delicious demands demographic depends deploy deployment
describe destinations detected detector determination determined devoted diabetes diagonal dialogue diesel diesen
difficult diffusion dimensions directions directories disabilities disability discharge discipl disclosed disclosure
discomfort disconnect discover discovered discrete discretion discussions disorders displacement disposal disposed
disposition disrupt distances distinction distingu distinguished distrib distribute distributed districts disturb
domestic downloaded drilling dropdown drought duplicate durante earnings effectively effectiveness efficiency
efficient einmal elapsed electoral embedding emissions empirical employed employer enabling enclosed encounter
encourage encrypt encrypted encryption endpoints enforcement enough enrich enterprises entrada enumerate envelope
episodes equally equations equilibrium equipped equival equivalent essence evaluate everywhere examination excellent
exchanges excited exciting executable executed exercises exhibition expanded expanding expansion expenses expensive
expiration explain explained explaining explains explanation explicit explore exploring expressed expressing
expressions exterior facilit facilities failures fallen familiar families fantastic financing fitness fitted fitting
fixture fixtures flexibility focused followed followers follows footprint forbidden foreground formatted formatting
fought foundations freely frente frozen fundament fundamental funeral gameplay garbage garlic gasoline generous
genetic genius geometric goodness gotten grains grandmother graphic greenhouse grounds guards guests halfway handful
handlers handling headlines healthier healthy highest highlight highlights highly histogram historically hitting
hombre homeless homepage homework honored horror household households humanity humidity identifies identifying
identities illegal imagination immediate immediately immune immunity implications implicit importante importantly
imposed impossible impressed inability inappropriate incomplete increasing independ influence informed ingredient
inherent initialization initialized injection inquiry installation installations installed installer installing
instances instructor instrumental insulation integrate integrated intellig intelligent intensive interactions
interested interesting interests interfaces interference intermediate interrupt invasion invitation invited inviting
invocation invoked irregular iterations jetzt journalism journalist journalists judges judgment justified kommen
kwargs landmark lassen latency latitude launched lawyer legally lessons liability lifetime lightweight literally
longitud longitude lottery magnitude maintenance malicious managers manages manually manufacturer massive matplotlib
measures melhor messaging metabolic methodology microwave middleware midnight migrations millions milliseconds mirrors
missed misunder mixture molecule momento monitored mostrar motivation motorcycle movements multiply muscles musicians
mutations navigate neglect neighbor newsletter nitrogen nominal nomination nonprofit normalized observe observed
obvious occasion occurs offensive omitted operates operational operators optimal optimize optimum organic
organisations organised organism organisms organiz organizations organize organized organizing outbreak outcomes
outlined oxygen packaging packets partially particular passenger passwords payments perceived performed peripheral
permissions permitted persistence persistent personality personally perspective phosph pixels planets playlist
playoffs plenty plugins podcast polygon populations possibly posterior potato potatoes potentially powerful practical
praise predicate predicted predictions predomin preference preferred presence presentation presented presents preserve
preserved pressed pressures primarily primeira primeiro probability produced produces producing productivity
programmes progression projection projections prominent promised promises promising promoted promotes promoting
promotion promotional promotions protected prototype provisions pseudo publish quantitative quantities quarterback
questionnaire randomly reactions reasonable reasonably reasoning reasons receipt receiving recipient recommend
recommended reconstruct rectangular recursive referenced referendum reflected regulatory rejection relates relating
relativ relatively relatives relevant religious remained removed removes removing renamed renowned repairs replaced
replacement replacing reporters representation represents requiring reserved reserves residential resolved restricted
restriction restrictions retained retirement revenues reversed revised rewards rhythm robots rotating sanctions
scattered scenario scheduled scheduler scheduling schemes scholar segundo selenium sensitive sensitivity sentenced
sentences sentido sentiment serializer seriously sexually sheets shipped shoulder showcase shuffle sicher sidebar
signatures signific silence simulations singular sitting skeleton slaves smallest smoking snapshot sodium somebody
somehow somewhat somewhere specially specifications specified specifies specifying spokes sponsored spotted squares
stability steering stepped stepping stimulation stolen stopping strains stressed stretched subclass submissions
submitted subscriber subscriptions substances substitute substitution successfully sufficient suggest sunlight
supervisor supplied supplier suppliers supplies supporters supportive supports supposed suppress surfaces surgery
surgical surplus surprise surprising surprisingly surround surrounded suspend swimming switched switches switching
symmetry synchron synthesis synthetic tailored talked talking telephone templates temporal thickness thorough
thousands tickets tissue tissues tomatoes toolbar topology totally touchdown touched transcript transcription
transferred transfers transformed transforms transient transitions translated transmission transmit transmitted
transparency transparent transplant transported treasure triangles troops tropical turtle tweets twisted unavailable
unchanged underlying underneath understand understood undoubtedly unlikely unlimited updating upgrade upgrades
uploaded usuario utilization utilized utilizing variants variations variety vessel visiting visitor visitors visually
vocabulary volatility walked walking wavelength weapons wedding weekends welfare widgets withdraw wonders worksheet
workshops worlds worldwide yesterday yields zijn
111122 abb access active actor added adding address admin adv aff after agent air alert ali alle allow along also
altern amb ana anal anim ann anne apple application apply appro apps arch area args array ass asset atom aug auth auto
avg bag ball ban band bang bank based bat batch bay bean beat bed being bel bell below ben bes best beta bill bin bind
bio black block blog board body bon book bool boot border bot both bound box boy brain brand bre bright bro bron buff
buffer build bur burn bus but button buy byte cache camp cannot card cards care cart cases cast cause cell cent center
cert cha chan change chapter chart chat chi child city click client clip clock clone close cod coin coll colors column
comb come comment commit conf config conn connect cons contact context conv cool cop copy core cos cost cou cover
created cro current custom cut dam dan dar dark das database days dead decl deep delay dem demo dest det dev device
dict did die diff dig dim dire direct dis disc display dist does dog domain done door dot double download drag draw
drive driver drop due dur each edge editor ein ele elect element email emp enc entry enum equ equal even ever example
except exec exit exp expect expl export fab fac fact fail fair fall fan fant far fast feed fel field figure fil files
fill filter final find fine fire fish fit five fix flag flash flat flex float flow fly font foo food foot force fore
forest format fort found four fox fra frame fre front fu full fun func fund gal game gar gas gate gen geo git give god
gold good got gran grand gray green grid gro gu guid had hal hall ham han hand har hard has hash hat hay header heart
heat height hel hell hen hero hex hey hide his hist hit hol hold holder hom hon hook hor host hot hour house how hu
hub hum hy ich icon ident identity images imm import include information init inner inst instance internal inv invalid
iron iter jack jam jan java je jer jet job ju jud jun just kal kar kh ki kin kind king kit kon ky label land lang las
lat late later law lead leaf lean leg len less level lib lie light lim limit linear link lists live load location long
look los loss lost lot love low lower mad made mag mail make mal male many mart mas mask mass master match math may
mean mel member memory men menu mes mess message meta micro mid mil mill mind mini mir mis miss mission mock mode
model models mont month mor more most mot mother mount mouse move movie mult mur mus mut nam names native nav near
need neg never news nice nick night node nom non none norm normal notes nov occ odd offer once online oper opt option
options orange org orig pack pad pages pair pal pan para param parent park parse parts party pass password past patch
pay ped pel pen perm pers person phi phone photo pic pick pin pipe place plan plant plate play player please plot plus
pod point poll poly pool por portal position pot pour pow pred pres press pri price print prob proc produ prof profile
program prom proof prop proto prov proxy pub pull pure push qi quad quant query quick quote race rain rand range rank
rate ray reader reading ready refer regex region rel release ren rep report reset resource resp result rev review ring
road rob rock rod role roman room root rose rot round ru rule running sal sales sam same sample san save say scale
scan sch score screen script sea search second secret section seed seg sel selection self sen send sent sep serial
service sets sex share she shift ship shop short shot show side sie sign sil sin sing site six skill skin skip sky
slot slow small soft some song soon sort sound space spec spin spot stack stage stand star stars states static station
stats ste step still stock stone stop store storm story stream string strings success such suite sun sup support sur
sus syn sync sys sz tab tags tail take tan tap tar target task tax tech ted tel tele temp ten term testing tests tex
than their theme there these they think thread throw thus tim times tip title tok token tom too tool topic tot total
tour tra trace track trade trans tre tree tro tur turn tw two typ under unique unit units unknown upon usage used
users using util valid van vari vec vers vert very via view vis vision wait wall warning wat watch water wave way wed
week weight well west what while white why width wil will wind wire wood words works world write wrong wy yang ye year
yet zen zero zone
212133 according across adapt advance adventure agency airport album alleg alliance analog ancient annual anything
anyway applications applied applying approach archae archives arrange artists assume audit auss avenue avoid bacon
banks bapt baseball basket behind belt benef bills birds bitcoin blade blood blues bolt bomb bones bott bowl brief
broad budget bureau butter campus cancer candy canvas capital captain carbon career castle centers certain chamber
changing charter checks cherry chicken christ cinema cities climate clinic clinical collector college colonial colour
combine concrete congress consult consumer convention cooper countries country creates creative creek cricket crime
crown crypt cuando damage dawn demon density depression desktop despite detect devices diese digest dinner directive
director directors disease disorder django draft dragon drama drew duty eastern econom eigen electro elementary empire
enemy enjoy equation estado evalu evening evidence evolution expert features feder feedback fiction fifth fifty
fighting films finally financial firm fleet flood flowers flying foreign forty foster foundation fourth fragment frost
funk garden gates genome girls globe gods golden golf gradient grande guard guide guns guy gym hands hardware heaven
heights heroes higher hills hollow honey honor housing hunter hyper identification imagine imaging immun imperial
increase instit island islands jazz judge justice killer kingdom lakes lamb landing languages laser launch leaders
libert lions looking looks lucky magnet makes masters maximum maybe mayor mechan median meeting memorial miles milk
million mills minister mixed morning morph motors mountain murder museum musical muss nations navy nearly needs
neither networks neural neuro nobody noise ocean oracle outdoor palace palm papers parks partial particip particle
partners penn perfect permission personal pharmac pitch pizza planet planning plants playing poetry pointer political
politics powers pract precision premium prepare pretty prevention priest primer prince princess printing prison prize
problems programme proposition protect protection protocol provide publication quantum rabbit racing rally ranch rapid
rational reaction rebel reduction regional regulation renew reporter reporting reserve resistance revenue rising
rivers rocket royal runs rural salv samples sanct scanner scheme schw science sections senator sessions seventh
several shel shoot silk simply singer singles sites sixth smoke snake someone soph spider squad steam steel stores
stories straight strategy strike sugar summit sunset superior suppose takes tamb teams telegram temple theatre
thinking thirty thunder tiger todd toll tracking trading tradition transit treat trees tribe triple trump turkey
universe valley various veget veter videos village waiting waters weapon weekly wells western wheat whites wife wizard
wonder woods workshop yeah youth
122223 ably ached acher aches achi achine aching acht acies acio acker acks adow agens agger agner ained ainer aining
ains alen alia amba amble amps anced anga angan anged angen angers anges anging ango angs angu anking anned ansas
ansion antage anted antis apers apest apter argest argin arial aries ario ashed ashing ashion asket asure atched
atches ately aters athan ather athon athy atial ations ativ ative atives atorial atories atorio atted atten attice
attle atures ayan ayer ayers ayout berger blem ception ceso chool chte cket clair clude ector edia eeper elia ellar
ellers elli ellig elling ellite ells ellt elly emies enced ences ency enne ensa ensation ensed ensen ensing ension
ensity enson ensor ensors ensus ential ently erek eren erez eria erial eries ernel erson erta erten erton erty esian
esome essage essages ession ethod etta ette etti heck ialog ials ibles ichi icht icia icio icker icket icks icles ield
iente ientes iento iera ieval ifact ified ifier ifiers ifies ifik ifty ifying igger igned iked ikes iking ilen iley
ilia ilio illa illary illas illed iller illery illes illi illing illion illo illon ills illy imated iments imes imeter
imize imore inar inary inas inate inated ination inator inders indre inese inez inging ingle ingly ingu inker inki
inking iona ional iones ioni ionic irts irty ished isher ishop isions ista istan istance istant isted isten isters
istory istro itect itel ither itions itive itives itter itude iverse izar ized izen izens izer izers izes izing izon
jected leep lege lement lene letal lete leted letes letion leton lette lich mente nels neys obile ocket odel odes odia
odies ogan ogen ogle ogue ogy olia olla olph omain omed omes onces onder onne onom oples ordan ording ordon oren oria
orial orie ories orio orld oshi osto ostream othy otte otti ouch ources ourg ourse ourt ouses ovan overs oves ovic
ovie oving ower plement plies quare quez quier quire quired raph rene rika rodu roke ropa roph ropic ropy roup rowing
rowse rowth rying sters ubes ubic ublic udad uded udes udio ugar ught ugin ugu ulent ulla ully ulture ulty umber umed
uments umes uncan unda unday unden undle unge unning unta untime untos untu urance urations uren urface urname usement
ushed usive usted usters uters uther utions uxe velt ypes ystem zech zej zeug
222222 aaaa aat aben abin abis abor acin actory adr agic agine agr agre akan akte alance alc allas allback alties alty
alu alue alum amage amet anco andard anding andon anh anning apan apat apos apy archar argb arness arry arto arty asil
astes astr asty astype atab atr atto atts atual avad avig azer azing azo azon beng bew bij bisa bris bum bund cerr
chall charg chos cial cken clos clud coln comun conds congr consc constr coun crate crease creat csrf ctors ctr cui
decom dei dej deze diam dib dik dla dlg dok dram dto duce dux dword ecn ecute edef edom edor eed eer eft ega egan egen
egin egy eif elay elist elp elta emand ember emi emic emory ench endi eners engan enge enger engers entic entr erge
erm erp erry erve erver erview esi estaba estion estos etas etr etro eturn etween etwork etype evid evt exem expos
fection finity fis flate fot foto genu gez glm gros gtk haar hj hous hun iale iales ibt icas icer iere ifu igest igid
igit igm igr ilers ilm ilter imary imation imits impr inclus infr inish inq intage inue irable iration irr iske isme
isor isset issing istor istr itmap itory ivery jak jeg kie kut lator leans lick lict lij lique lng lood loom loor lope
lua maar mej memset mend meng mgr mie mitter mle mog mvc naar nad naj nec nect nection neh nej nek noi nya nych ocom
offee okens olas olation oler olor olu oment omet onth opup oret orrect otation ourn pam parator pared pcion pection
perature perd pharm pher phere pio plash plet plete posable poz preg preh preval pring prite proces proj propos provid
prz prze pson pth pute puter qli qrt rael reak recom reduc refix refs reh reib rele reo retr retry riage riers rior
riors rops roz rror seit seja seks sele seo sert shal shit shr simp skal sov spa spraw stom sunt swer terr ths tle tog
tpl trab tring uate ucc ucle udy uet ugo ugs ukan ukt uld ulta ulti unci undef unist unks unn upal urd urr usan userid
uset usize utas uum vale veh vind vk vue waar wers wnd wner wsz xct xffff xis yap ych ycl yii yled zus
313300 abandoned absorbed accelerate accidentally accommod accumulated accumulation accurately acknowledge
acknowledged acquiring administered adolescent adopted advocacy advocates aesthetic affecting affects affiliate
affiliates affordable agreements allegedly aluminum analysts analytical analyzing annoying anxious apparatus
appearances appliances applicants appreciate appreciated appreciation appropriate appropriately approximate
arrangements artifacts assessments assumptions attendees attracted attractions attractive bankruptcy batteries
behaviors believing belonging beneath bizarre brackets breathe browsers browsing cabinets cancellation cardiovascular
ceremony challenged challenges challenging cigarette cigarettes climbing clothes collaborative colleagues
communicating complicated compliment comprised compromise concerned concerns conflicts conjunto consecutive
consistently consumed contradict contributing convicted convinced cualquier curiosity decentral declarations decreases
denominator departments deployed derivatives describes describing deserves destruction deterior devastating diagrams
diferentes differently difficulties difficulty disagree disappear disappeared disappoint disappointed discipline
disciplines discussed discussing dismissed distinguish doctrine dossier doubts dysfunction earthquake easier easiest
easily ecosystem efficacy efficiently einfach elaborate elegant elevated elevator embodiment empresas encontrar
encountered encouraged encourages enhancing enormous entertaining enthusi entirely evolving exceeded exceeds excessive
excitement exclusively executives exhibits expenditure experiencing explanations explicitly exploit explosive
extensively extraordinary fabulous facilitate femmes financially focuses focusing fragments franchise frequencies
frequently frustration gathered genuinely gloves gorgeous grateful harassment harmful heavily helicopter highlighted
highlighting holidays honestly hypothesis imagined immigrants imprison improvements inconsistent increases
increasingly incredible incredibly independently individually inevitable inflammation influenced influences
influential innocent innovations innovative insects intellectual introduces intuitive involvement involves involving
knocked largely laughed laughing launches legislation legitimate lifestyle magazines maintains manipulate manipulation
meaningful measured metabolism migrants mismatch mujeres mysterious negotiate negotiations neighborhood neighboring
neighbour neighbours newspapers nodded nominated obstacle obstacles occasional occasions opinions opportunities
organizational overwhel permanently phrases plaintiff podemos pouvoir preceding precisely pregnant prescribed
prestigious prevalence prizes problemas procedures proceeding proceeds professionals prohibited prompted proposals
proprietary proximity pupils purchased purchases purchasing recognised recognize recognized recommendation
recommendations recommends recreational recycling reflecting reflects refreshing refugees relaxation relaxed relaxing
releasing relevance reliability remainder remotely replied reportedly reproduce reservations retailer retailers
revealed revealing reveals satisfaction satisfied satisfy satisfying scenarios schedules seemingly significantly
siguiente simplest simplify simultaneously sincer situations slavery smoothly sometime spokesman squeeze stainless
stakeholders stretching striking struggle subscribers substantially succeed succeeded sufficiently suggested
suggesting suggests supplements surprised surrender surrounding surroundings survive survived susceptible suspects
suspension suspicious sustainability sustained synchronized tattoo temperatures temporarily testimony themselves
therapist thoroughly threatened threatening threats trabajo trademark tragedy trajectory travelling trouver
uncomfortable understands unfortunate uniquely unnecessary unprecedented unwanted upgraded vacuum varieties vessels
vibrant wholesale widespread willingness withdrawal wondered wondering
212122 aber addition adds adult advent aer alarm alto anyone army auch backup barn bass bast bath batt baz beach bear
bears beer beginning bh bios bir blind bod bog bom booth bou bran brick brig brow bru buck bun bush buzz cable came
canal cann canon cant capt carn cass catal cav cave chance chang chase chess clar clay coach coast cob comic comics
commission como contest cort county cour cra crew cri cron cru cry cub cult cyber dance dans dav defence defense dell
desert dies diet dil dip dock dod doing dol dop dou dow dream drum dry dub duck dun dust eco edition eine election
elite epic esta estate euro eve evil exact eyes faith fam fame farm fate fault fear feature feel fellow few fight
finance finish flask fle forces forget fri fro furn fut gall gam gard gay gaz gear giant gib gift gir glad glory gly
goes gol gone grab grace guild gust hack happ hass hav haz hear hence hier hits hop hull hunt hur impact implement
impro jag jew junction jur kay kick kids kings kiss kle kont kos kun labs lac lamp laws lent lever liver lives lub
luck lum lun mach macro mais maj mam mang mast maxim meat meet mell mig might mim mint mob mold mong mum myst myth
nach nag nep network neu nob notre nou nur oak oil okay olive opera pag pand pap parad parl partition peace pero phot
pier pig pink pir plans polar police polit pom poor prec prem pret prevent pride probe pros protest pul pump quart
quint quite rare rav rear reform rein revel rever rout rush rut ruth sac sad saf sag sage sang sans sav saw sche sci
seal sect secure semi sens separ sept setup sever sew shar sho shock ske sob solo sor sou soul soy spect spl spo spy
squ stark stim strange strat strateg straw stress sud sue suff sug sul swe sword synd tak tales tall tam tang tank
tart theater theory thor thr till tob tong tort tou tow toy tran trib tun tut twin vacc vad vice vill viv voy vul warm
wars wash wet whe wine wings wins wis wish wit workers wrest zoo zur
112222 aan abol aby acre acting activate actors acute aden agar aged agg aging ago agon aim aired ais aka akin alg alk
alla aller alloc ally alone alph als amen ami ample anc anch anno annot ano ante ants apo apt aren arena argv arte
arter asks attr auc aver aware awk backend backs bard bare beans bei bek bis blast brace bx bye caps cars cats ceil
cess cfg chant chor cin cite cls cmp cock cols conc cone contr coord cout cov cred ctx cue curl dated deb decode dens
dess dex dia ding disable dit doch doi doors dos dst duct dump dv dz ear ears ech edited een ego ei ej ela elf elong
eman emit encode ende ended ending ends enth entre eros esa ese eso esse estr etc ett eval extern fare fic finite
flush fmt fois fold forth frac fy gens geom gin gon goto grad hair halt heads heel held hes het hid hire hover href
ici icy ideal idi iff ih ij ils inch incl inde inh ini inputs inte ips isol jav jour jug kj kv kw lace lect leur lies
lig lik lint lod logs lst lust lys mana meal medi mens mere meter mins minus mouth mov mph mund mys nen neo nie nim
nit noc nost notation nx obra obs och ode oder odor oft ole ones onto opens opp oral orch orden ore orth osc osp oss
outer outs owe pace paid params pause pec pend perc pert pip pis plt plug ply portion posing posit pron prot pts puts
px quel quer quit quo quot rack rage raid rang rated ration rece reck rede rename rend rent repr requ rer resh rez
ride rin ris rug rust scr seat seek sei sein sequ ses sett shake shine shown ski slash sole sq stab stable stance stem
stick strap sty tee teen termin thy tid ties til ting tmp txt uh uint uma una unde uno unto upp ups urg usable uso usu
usual vals valu vars vet vez vide vie viz void voir vos wand wart ways wear whose wig wor www wx xe xs yer yn yr zer
zi zig zo zw
112122 account activ acts actual agents ages aid akt alter amber among anth appe append aqu areas arms arrow arts
aside aud auf aur aus aux bab background bak bars bash beam bee been before beg bere bert bib bid bil blank blue boat
bol bold bone boost bor bos boss bour bow boys bra bras bread brid bud bul bull catch cel cer chap cher chin chip chr
chrom cir cit cle clin coal colon coming cord cot cream creation creator crit crow cul cum cup dad dag deal deck
define depth din dob dra dre dro dup dy echo eff egg eh elle else emb engine era errors este extra ey fake fal fed fen
fer fest fib flags flight flu fol fon fork forum ful fur gain gan gang gap ged gel gem gent ges gest gets gew glass
gle glob global goal going gor gra gun gy hab hang hem hil hill him hin hind hip hole hood hus idea inform inn intern
iris jal jar kan kel ker ket keys kid kil kill kol kom ku lad lag lake lam lands lap lar lav learn lem lev lic lid
ling lion lip lis lit liv loan logic login lon loop lux mai mak mall mand mans mant maps mars mate means meg meth mile
mine ming minor mist mitt module mol mort mos mul nan nap nation ned nest nic nos nova nut office orb ordered ost oval
oz pain pare partner peer peg pent perform pes phase phen phys pie pine ping pit plat ple pole pon pose posts pra priv
private psy pun qui rac rag rail ran rap ras rat raz react reb redis remark remote remove rib ric rice rid rif rig rim
rip rise rit river rub rum said scar scroll sed seen shore sid sit som sta steps sto stre strong stud tal tas tat tau
tea team tem terms tes tet thing tit tol une uni uns unter uses vac valor vas ves vest vic vig vil vin vine viol vir
vit voice von vor vote vy ward wel wen went wer were whole wid wide wie wing wise won worker working yard zh zu
122233 abei abling acional aciones acious acular adays adel ades adian adora affe agement agonal agraph agues ahlen
ahren ailed ailing ails aily airs aises allel alore altung ambda amed amel amental amente ames amiento amily amous
ampling ampton anan anas ancel ancers ancia ancies ancing andez andra anmar annah anners annes antly apons arbeit
archy arian arily arium arnings ascade assa assis asso assy asures ativa ativo attered attery atura atural avier
avigation avour azione bidden boro cedes ceived celand chemy cido clipse cluded cluding clusion clusive covery cular
culo ecause elcome elen elfare emale empt enas encer encia encias encies encil encing endra enez ensive entials entric
essed essel ettes feld fono furt gency gende gression gunta halten haps heets heimer hetic ially iane iano ibling
ichen icher ichte icular idade idential idian iece ieder iences iendo ienne ieren ieron ierte iffe iffer ifica iframe
ije iji ijing ijn ilateral ilities imension imming indow indrome inely inned innen inois inski intendo iolet iously
ipped ipping iques iren isations ischen ischer ised isen isons issen issions italic itals itations itative iteral
itudes itures itzer ivals iveau jamin jango jection keeper keiten keley kins lando lasses lected lections legate
levard liament liche liest liga ligt lington malloc mitted naire nement obby obia obox ocker ocks ograms olean olen
ollen olly ologic olved omatic ometer ometry omial ondon onomy onym ools oons opia opsis orgen orian orney orneys
orous orthy osed osen osome osph osta osten oston otions ough ounge oured ournal ousing outube oyer pected phabet
plier pons posure ppers prise prising psilon quiry rapper reshold richt riter rites ritis rito ritt rogen roleum rones
ronic rons rowave rowser rozen ruit scribe scriptions senal seudo shire stances terior tesy thers ually uario uchen
ucht ucker ucks uego uela uelle ufact ulates ulating ulations ulative umatic ummer ummy umps unched unwrap uous upiter
uracy usiness usions velop velope vement verage verts viewport ville vious vised visor voke wares weets weise wich
xico ylon ynam ython zahl zier
313200 achievement achieving advertising allegations alleged announcement arbitrary architectural arrangement
assessing associations atmosphere atmospheric attempted attempting attempts audiences automatically automobile
autonomous bacteria bastante bathroom beaucoup beliefs believed beneficial benefits blessed bottle bottles breathing
briefly brilliant calculating calculations campaigns captures capturing catalyst ceremon cholesterol chopped colleges
communicate complaint computational concentrate concentrated concerning consistency consultant consultation consulting
convenience coronavirus corporations correspondence corresponding corresponds courtesy cultures declined decreased
decreasing deeply definitions demonstr demonstrate dependence developed developers developing developments develops
differential discounted discovering discrimin discrimination diseases dispute dissertation distributions dollars
dramatic dramatically dressed dynamically economies eliminated eliminating energies enjoyable enjoyed enjoying
establish establishing establishment evaluating evolutionary evolved exhibit expertise extremely faithful fifteen
firmly firmware flavors flooding frequent furnished furniture futures futuro gallons gambling grabbed graduates
guarante happened happening happiness harmony horrible hospitals illustrate illustrates illustrations implementations
improved improves improving inferior initiatives inspiring institutions intellect intrinsic involve involved
knowledgeable launching lawsuit lawyers loyalty majority manufacture manufactured manufacturers manufacturing
manuscript marijuana measurements mechanics mechanism mechanisms medicines minerals mobility momentum multiplier
narrative naturally newspaper obligation obtaining pandemic participant participate participated participating
participation particularly partnerships peaceful penalties penalty perfectly personalized perspectives pharmaceutical
pharmacy philosoph photograph photographer photographs politicians polynomial popularity practically practices
practicing preliminary premises principle principles prisoners prospective protecting protects proteins provincial
rapidly regularly rehabilitation relationships renewable renewed reservoir respiratory responded responding responds
responsibilities responsibility responsible restaurants resultados retrieved ribbon safely salaries savoir scholars
seasonal seniors sensible separately severely shelter shelves shooter shoulders shouldn siblings siempre significance
similarity spectacular spiritual splitting sponsor standardized stimulus straightforward strategies strengthen
strengths strictly strikes strongly structural structured structures studied studying submitting subsequent
subsequently substantial surveillance surveys survivors suspected sustainable symptoms technically technique
techniques technological tendency terrorism theoretical therapeutic thoughts thrilled tobacco touches touching
toujours traditions travelers traveling treatments treats triggered troubles trucks tutorials undergraduate
vaccination vaccines vegetable vegetables verschied veteran villages volunteers wheels witnessed witnesses wonderful
zusammen
111111 ab ac acc act ad add af ag ah ai ak al all alt am an and any ap api app ar are arm art as asc ast at au av az
ba back base be begin bi bl bo br bu by ca cad cam can cap car cat cd ce ch ci cl co code col com con count cr cre cs
cu cy da data date day db de def di do dom down dr du ec ed edit el em en end eng ent ep eq er error es est et eu ev
ex fa fe fi fig file fin fl for fr from ga ge get gi gl go gr ha he head ho id if il im imp in info input insert int
io ip ir is iss it json ke la le led left li line lo loc log lu ma mac map max mb mc me mem mi mic min mit mo mr ms mt
my na name ne net new no not note null num ny ob of off oh ok ol om on one op or order os out pa par part path pe per
ph pi pl po pol port pos post pr pre pro ps pt pu put py qu ra ram re read red ref reg rem res ret rh ro ros rs run sa
sc se sec select sem set sh sha si sk sl sm sn so sp sql sr st str su sum sw sy ta table te ter test th the ti time to
todo top tr ts tx type ui ul um un up update ur url us use user va val var ve vi vo we wh who win work xi xml yes
222233 accessor acji adius adobe adows advant agenda aggio ahoma ahora ainda ainsi alaska alian aliment allerg ammed
anager ancell animator annels anvas aption arrang arrant arring assen asser assum athers aturing aunch avigate
avigator axios azioni bearer beaut beste buffered centage centr centro cerca chaft claimer cludes colleg conflic
consequ contrad cours cript cryst cuenta czy dalam dari dengan diana dipl dirname disag distr doctype drawable duino
duplic earing ecurity ecycle elijk elines embers embre emed emente emerg emph empo empre enant encent encour endregion
entina enumer erman erved erves escription essen estination estroy estruct etadata etection europa ewise excit fecha
finden firebase flix foll fony formance geld gonz halb hape harr hasil hogy holm honda hosp iamo iams idaho idges iene
ienen ieten ieurs ijd imals iminal inals indows inici insets integ iostream iowa ioxid ipient itten jahr juga lanka
lations laura lessly leurs leveland licht licit loating lyph manera meille memcpy menj miami midt millis myster navbar
nbsp nivel noexcept notations nuest nullptr odigo oints oji ollo onitor oods opped opper opping ounter ovement pada
pager permet phony plaint plaza pleted pletion pliers podr pragma profes promo przy ptions quential questo quien
quires redict reement rench respir revis ritable riting romise rompt sanit saudi scala scanf sched scious semana sexo
smarty soever stdlib strlen struction styled surpr syria tabla tampa tempt thous turk uclear uito uje underst unnel
utilis utiliz viron vista wanna waren webpack whats witter xiety ycz ymph yoga zenia zenie zilla zione zona zung zym
212100 accuracy actually administration advanced affairs afterwards aircraft alcohol algorithm alternative
alternatively analytics animals anxiety apparently architect assessment assignment assistance assistant associ attempt
attorney authentication automatic bachelor battery besides beyond biological biology bootstrap borough broken brother
brothers calculator campaign century certificate champion champions chemistry chronic circuit cognitive combined
comedy committee comparison conference conflict conserv contemporary continuous copyright criminal crystal cultural
declaration democracy democratic depending detection determine develop discovery distribution district dollar dynam
dynamics earlier eclipse effective effects electrical electron electronic employees employment environmental episode
equipment especially eventually everybody everyone everything exploration explorer exposure fabric facility faculty
fantasy favorite festival following football fortune freedom further galaxy gateway genesis geographic government
guidelines harvest headquarters healthcare historic historical hockey horizon however hybrid hydro immigration
increased independent indigenous industrial industry initially institute institution instructions integral
intelligence international journey judicial junior kitchen knowledge legacy libraries literary literature magazine
magnetic managing manufact marriage materials meanwhile military mirror molecular moreover mountains navigation
nevertheless nonetheless normally northern nuclear observ observation obviously operating organisation outstanding
parents parliament pictures potential practice prediction president presidential previously privacy probably producer
professional professor programming progressive province publications recognition reconstruction regulations relief
religion reservation respons restaurant revolution salmon satellite schools scientific senior shipping shopping
significant similarly singleton specifically spectrum stadium strength subscription successful supreme survey teachers
temporary tennis thought thousand tomorrow tournament traditional transformation tunnel tutorial twelve twenty twitter
typically understanding unexpected virgin wireless youtube
111133 additional alignment almost alpha already always amount anchor android animal animation answer around async
average binary binding birth born bottom bridge builder built bytes cancel category cells changed changes channel
church circle classes cloud cluster columns complete component connection console construct container contains convert
cookie could counter course credit critical cross customer dataset details dialog direction disk distance duration
earth effect either elements embed every examples exception exchange execute existing express expression external eye
factory father female fields film fixed focus follow forward future gamma gender gene given grade graph guest half
handler having health hello hidden history hours human install instrument interest invoice journal large legal linked
links liter machine maker making manage manager material members messages missing mobile money motor multi national
natural organ origin original outside package panel paper payment picture piece plain points policy predict prime
problem production progress property provider python quarter random rating ratio really reason recipe reference
refresh regular repeat replace reply response reverse rich risk rotation router rules runtime schema school season
security setting settings shadow shape shared sheet shell simple since single socket split square staff street strip
student studio supported surface switch symbol talk tasks template thanks third those today tools touch training
transition tuple uniform unless updated upper utility validate validation views walk weather website whether which
widget window windows would writer writing years yellow
212203 absorb accepts authorize authorized automat balanced balances balloon barrel barrier betting biggest broader
calcium calories canceled cartoon checkpoint classroom cleaned cleaner cleaning cleanup clearance cleared clearing
collected collecting collective colorful commonly communic comparable compares comparing compartment compass
compatible compensation compete competing completely complexity compose composer compression comprises computation
computed confused contamin continu continues contractors controlling corners correction correctly correl countless
curious curves datetime decided decides deciding decoder decoration delivered delivering delivers designer distress
divided dividing divisions documentary documented donations expectations fairly fatigue freezing functionality
generates generating generations generators greatly hardly incidence incident incidents incorrect infants infected
inference informative insights inspection insulin interacting interfer interrog intersect intersection intervals
invoke limitations listened listeners listening localized markets married matrices matters maturity medieval metabol
metallic metals metaph modifications modifier modifiers modular monitors monsters muscle musician nowhere overcome
overlap palette panels passed passport patience patron patterns personnel populate populated powered primitive
processes processo processors radiation realise realistic realized recalled reproduction requirement requirements
respected respective restoration restored sampling satisf serious served servers serves serving signaling simulate
simulated simulator sleeping snacks solved solving spawn speakers speaking speaks speeds spelling spells statistic
subjected subjective substant substit substrate subtitle suspect systematic tablets trailer trailing trained traveled
traverse trillion vibration volatile voltage volumes volunte yourself
212232 absor apples autre autres basics bets bigger caller calls calm casi caso casos casual charity chips clients
clips coloring commod compan compart compens complement comport compos comprom compte concent constit conten conting
contre curs datas datos decent decide decir decis decor delight deliver della descend desde desper distinct divers
divert divid divide diving divis divor donate donated donation donc donde donn donor donors emission escal escort
espec eventual fatal finds freeze functioning gaps grep grew grouped herb herbs herein holes incent incur indexed
indexes infant infect inser insight insist interact intercept interf interpol interpre joined joining joins limitation
limiting limits linha listings locals lowest mainly mane manip marble marked markers marking markup medication meters
metres midd modelo modification monde monument mucho muy neck novo objectives opened openly outputs overhead overl
overlay overse pants passage passes passion patio petite petition pets pilot pins popul profiles projected publicly
purch purs radical realize recip regret remind restart reste resting resume retour returned rider scores selecting
selective servi signs sigu simult snack solic soll solve solver speak specs spike spill spir sprint starts statue
statute stdin subst substr subt superb tablet thats tours traff trait trav tried tries trio tuition unions vocab vocal
wasn wherein wherever yours
213200 acceleration acceptable acceptance accepted accepting accountability achieved acoustic adaptation adapted
advantage advantages agencies altogether amazing amplitude analyse analyze appealing appeared appearing assignments
authentic authenticate authenticated avoiding backgrounds becomes becoming behaviour benefit bicycle branches
breakdown breakfast bridges budgets cantidad ceramic circles circuits circulation circum compliance concentration
conditioning conducted conducting conscience conscious considerable considerably consideration considerations
considered continuation continuously controvers coordinator crafted critically criticism crowded cumulative dangerous
dioxide dropped dropping efforts electricity eliminate elimination embargo emotional emotions essentially established
estimates featured fighters flavor friendly friendship girlfriend gleich globally gradually graduated graduation
gravity habitat helpful himself holiday hydrogen illustration incorpor indicates indicators individuals inherit
inheritance inherited injury internally interpretation kidney kilometers landscape legendary licensing likelihood
litigation luxury maintained maintaining mandatory mistake mistakes mortality mortgage motivated nationwide neighbors
nicely nutrition observable observations occasionally occupation occurred occurrence opposing opposition optimistic
optimized optimizer ownership painful partnership performances periodic periods permanent phenomen physically
physician physicians platforms pleasant pleasure pointers precious presentations presenting primera princip protective
punishment racism raised ratios recipients recovered recruit remembered representations represented representing risky
roughly routines sequences skipped steady stopped streets talented talents versatile vinyl violations violence violent
virtually viruses visualization vitamin websites welcomed welcoming widely witness worship
222133 aaron adams ahmed alabama alfred allah anderson andrea april arctic arthur asian august austin baker barry belg
besch biden blake bobby brandon bren brook bruce butler canada carlos castro chris chuck cisco clinton cohen colomb
costa crist cuba czech danish danny davis december delaware denmark diego dutch eagle edward emily england estados
finland fisher fitz frances freder georg george ghana giants glen gordon greek griff grove gulf hann harper helen
henry hillary hindi hitler holl howard hugh iceland india indian indiana indones informationen intel islam italy jamie
jenn jerry jesus jordan juan jung justin kansas karen karl kauf kenn kevin khan kinder kirk klein korea korean kosten
krist kumar kurt larry linda lodge louis luther martin michel milan miller mongo moore nancy nathan nazi newton niger
nokia norman obama pablo parker pearl pedro perry portland potter puerto qatar rachel ralph rangers reuters rico
robert robin rosen santa schl schul seattle senate sierra silva singh spanish spotify steve steven susan syrian tamil
terry testament texas titan tommy trek turner unicode villa warner watson wayne wilson xbox zhang
222122 abd abu alb apache arab armen aub aust aval balt beth bible blu bros brun bry carm carol carr cath chile civ
clark cox dak dame daw dean dew dor duke eden emma eug evans fern ferr finn flor frage gand gil gill glas goth hans
haw hend hern herr hob hort insp irish joh jong jr kab kam kap kas kash kate kath kaz keith kend koch koh kong kop
kore kre kur lah lak lanc lew lil lind lisa liu liz lok ltd lud luis luke mack maine maur maz meer mein mik moh moses
muse nak nash naz nord ohio pak pav peng pep peru phill pok poland polish pope preis putin rams reed roh roth rud sach
sah sak sant sau scot sean shah shin sof sri sund suz swiss thai tib trad tul tus uhr viet wales walt walter wes whit
wik wol xu yam zach
112133 ability above abstract accept activation activity alien annotation archive armed article articles artist assign
atomic attribute attributes authors available avatar bench bird bishop bond books branch break building burg chair
chief choose chrome chron circ commerce condition conduct court craft creating currently cycle danger definition
degree department docker doctor early elastic english ensure escape failure falls floor flower fried friend fruit girl
github goods google grass growth hammer helper horn horse implementation important includes iterator kernel legend
loading major measure medium minimum minutes modules moment observer occup official often omega operation operator
optim optional parameter parameters people percent period photos places plane platform players plugin positive
possible present protein psych rather records redirect related relation remember returns ridge roads robot rough scene
segment sequence sharp shield software standard standing strict stuff teacher techn terminal tiny urban visit visual
whatever wheel wiki woman worth writers
111121 abs action aj aut aw bal bar bas bet big cal call cas case char class color comm comp const cont cor create cur
dat debug dec del delete des desc description div doc don esc event false fat first free function gener gre group have
her here high html http inc index inf ins integer inter into join key like lin list local lord main man mar mark mat
med met method mod mon mu must nat next nor now number object oct only open output over page pas pat pet pop project
public rad raw real rec rest right sat ser sig sim size sol spe start stat state status std sub super system tag text
that then this three tri true tu union value values vol war was when where with you your zip
112233 activated allocate angles animate animated arrays artifact await bands blocks blogs boarding boards booking
borne burst bury charts chlor coding comes comfort compile connected covered cuts defined edges encoded endif epoch
epsilon estimate estimated faces felt filled flies folk footer forced formed frames fully fusion geme genes genre
holding holds hooks houses ignore immer issued iterate iteration jours leading lemma lights loaded loader locations
logged logging logout lots lung makers matched missions mysql numeric ought owned paired panic paste phones phrase
placed placing planes played plays plots ponder posed positions printed printf prints punk quiet raise rates recht
recogn reduce regulated remaining resolve rides rooms rotate rounded rupt seller shots stead stones styles subset sudo
temps tenant terra thumb typeof variant visions walls weak wealth weights witch yards zeros
213233 accounting activist activists afraid aimed aiming aktiv amongst apparent appears aussi babies became become
begins begun bereits blanket bulb celui charged charges charging citiz climb cohort comunic contrary creators critics
critique crowd crowds defaults dessert dinero drinking drinks effet effort eggs einem eligible elsewhere embry energ
erfol essay farming fibers firms flesh flew floating folks fonction forgot friction gentle glyph grupo habits happen
hearing horses hunting husband imagin irrit keeps lacking ladies leverage licence lovely loyal maintain maior mandate
mineral myself necess obesity oblig onclick opinion oppos parece pesso pregn pretend privile pulled racial racist
rebuild remarkable revert rigid risks ritual scratch searches sedan separation settle shorter skew strugg therap
tribute tumor urged vacation verification versus verte vigil voters votre warming welche werden
112211 aa abc bb bc bp bt cb cc cf cm cn cp cpu css cv cx dc dd df dh dl dm dp dx ea eb ee ef eps fb fc fd ff fm fp ft
fx gg gm gp gt hl hm hp hr hs ht hv ia ib ic ie ii iii iso ix kb ks lb ld lg ll lp ls ml mm mp mv nc nd nh nl nn np nt
oc pb pc pd pg php pk pm pp rb rc rf rg rgb rm rr rt sb sd sf sg ss sv tb tc td tf tl tm tp tt tv uc utf uuid uv vr wr
wt xx xxx xy
212223 achie acres antib argue arrest asked asking attend attent avail badge badly biom bitmap bitter blend bless bugs
cafe cela cheap cheer chose clause cogn combo denial denn deny deriv dirty ellos entered entering enters ethical
extend extent extrem finale gaze gluc groom grows heav ignor ikke impress indent indication indices indul jail landed
lanes lasted lasting lasts layers leak least legs locker locking locks mega mention merch merit namely nano narr nerv
niet nons offline onset pela pension poco pork qualification qualify rape rays readings regime regist reload requested
requesting rises rolls romance roster scans scrap sector seeks seems sexy tener tension tomb tones torch torn torque
unders undert versa vida worden yield
122212 aba ack acs ars asa ata atch ated ater ation ator ature ck cla dk ence ense ents eo ere ern ero ert ery fff
ffff fg hk ial ible ical ices ick ics ient ies ifi ift ify igh ight ild ime imo inct ine ings ique ision ite ith ition
itle ity ive iver ives ize ject jk kc mq nal oa odo ody oe ong oo orm ors ory otal ote oth oto pn ql ream ree rk rop
tern ua ual uble uf ule ull ume ument unction ure ush ust ute uth ution ux vd vg vn wb wc wd xt xxxx yp ype zz
111112 age ale ang ans ant arc arg ash ask ath att ax ay bad ber bit bug che den der dir ek ell ens enter entity eth
ext face form ger hi home ice ign ik ill image ind item its ja jo ka kn lab last les let lex lock ly mer ng ni nu old
ord our qual que quest rect request rom row rx see seq server session son source ton tor try ty ult und vel ven ver
web wi wo word ya yo ze
122122 ada aires ald amar amer amy andre anna ara ari azure bach bart bec bild buch cape chen dale dong edu eld eli
eur ez gov grund hart haus hed hoff hos hou ian ital ivan jac jah jen jes ji jin jos kes kir kok kor kov ley lor lov
mare moz mun nar nel nik ober obl ori ott rab rah raj rey rick rio rog rome rou rus sey shaw shi stra teil ther uber
vern vik wang wei wright wu xia yan yi
212230 acknow arrival athlete athletes attached attacked attacker attacking attacks attended attending attitude
careful certification cheaper cheese chosen clusters conviction derived diameter embrace enables encaps encontr
enemies enforce ensures ensuring ethnic exceptional extending extensions extensive extracted famous forecast formally
formerly formulas gerade helmet helped helping hotels ignored ignoring illness inactive indicated induced knife knows
labeled leaves leaving lengths lengthy letting licensed lymph merely namespace offshore ordinary orientation portrait
portray qualifications qualified qualifying qualities qualquer questioned registers registro rendered rendering
rewrite romantic seemed sought spreading tomato unsafe warehouse wouldn
213300 accompany affection affiliated ambitious amenities apenas appearance appointed appointments assembled
attachments averaged avoided awareness awkward breeding cocktail coefficients combinations comfortable competitive
competitors comprehensive creativity credibility cylinder debates dedicated dismiss earliest eligibility emphas
emphasis encounters enhanced environments enzyme experienced explode explored explores explosion favorable favorites
favourite featuring fulfill fulfilled hesitate ihren inclined indicating infections ingredients injured injuries
insufficient integers interpreted irrelevant journals likely membrane molecules neurons occurring ourselves positively
poverty problematic pronounced quelques quietly respectively simplicity teenage teenager teenagers thumbnail tiempo
typedef vehicles weakness wealthy worried worries zwischen
313233 cameras canonical carpet catast causing clarify coastal convenient crisp cruel cruise dealers decrease deleting
dieser dietary doubled doubles doubt dressing enhance evolve farmers fazer feelings fewer floors fruits guilty happens
ihrer impacted implementing improper kommt meetings mejor minority neces nurses obtained pessoa poorly precise
prevented preventing prevents properly prosper puede rarely resulted resulting sacred sauce savings sculpt separate
separated separator shocked shoes sixty souls splits stereo strategic streams stronger strongest sujet sweat sweep
tactics tongue torture trabal traders tranqu tricky trouble undergo vaccine voyage vulner warmth
111132 actions audio author balance basic better between calc called charge clean clear collect collection command
comments common company compare complex compute configure constant content contents contin contract control corn
correct delta directory document empty events expected factor failed games general generate great handle initial
inside interface interval leader lines linux listen manual market media much music objects patient pattern power
process projects radio required results selected series serv sigma signal sleep social solid solution speed spring
starting statement town train variable version within without
312200 adjustable adjusting adjustment adjustments administrators apartments apresent barriers cancelled civilian
comparisons consequences consumption conversation conversations demanded dependencies deprecated designated destroyed
determines determining diagnosis diagnostic emerged emerging employers evaluated everyday executing experiences
experiments gathering governance governed governments hierarchy hungry instantly integrity intentions invested
investig investigate investing investments investor investors machinery machines marginal margins mechanical
membership multiplication officially officials priorities remedy repeating researcher responses responsive sandwich
seasons shadows shareholders shooting shortcut situated smartphone smartphones spreadsheet surviv symbolic tolerance
towards traditionally translations treating trends triggers universities victims
222223 acia acket afka aines alah antity arak arker atau atie atient atri aying ayment champ chema cheme creens edish
ements emplate entert esser esso etail etect eters ething etter germ haust ignal ignment ikel ikip ilder inding isible
itial izi izo legis leri letic lica merce merg nella olding onda oraz otta owers owie owy pector perty pression quals
quee quir rxjs sono teger tym udit ufen ugal ullet uncert unset unting untuk utex veloc veral verd verg verm verw
vider wordt ycle
211122 adam apart blo bob bring brit cab camb cash cele cold concept cong cook cow dash dear death dep domin east
eight flip frank fresh gab ghost hint hope intent introduction jump lou luc march marg matt mich mix mom moon nature
nine notice notification paint pear phil pont runner sab saint sale salt sand seven sher sir smart snow sold south
sport stay sure tell thank things tile trip trust truth unity vict vous wake want wild winter
222100 amazon america american amsterdam anthony batman beijing benjamin berkeley birmingham brooks buffalo california
campbell canadian catherine cincinnati collins commonwealth connecticut daniel democrat detroit deutsch disney edwards
elizabeth fortunately halloween harvard harvey holland holmes houston illinois instagram ireland italian jahren
january jeremy jersey jerusalem latino lawrence madison madrid malays manchester manhattan massachusetts milwaukee
missouri montreal morgan morris mumbai murphy murray muslim netherlands newcastle nintendo philipp richard richmond
ronald samuel shakespeare stephen switzerland thailand vincent walker washington wednesday wikipedia william
211133 adjust baby battle brown bundle capture catalog centre civil conversion culture daily drawing during easy
europe excel execution finding fraction gallery getting govern happy holy hotel hung income indeed instant inventory
invest lady latin league living mapping motion moving nothing numbers packet pixel prior procedure quantity receive
regression republic research resolution reviews revision ruby saved sensor silver sorry sounds sources sports summer
sweet taken taking tensor therefore ticket travel trigger unable united univers unlike wolf women
133333 abetes ahoo ailable ailand amento amentos aneous apsed avascript avorite ceptions ceptor chedule enerated
ennial ercise ervices esterday ibration iedad igration iliary iliation imentos ingham irection irectory irement irtual
istration ittle iveness iversary ocolate odium oggle ognition olerance ollar ological ology ombre ommen opher osterone
otional ould oulder ounced ouncing ounded ounding ountain ousel ously ousse oustic pective reatment ucky uesday uffix
uffle uffy uggest ulsion umbai ummies umpy urchase urope ursday usalem uzzle
313333 abandon abundance abundant accompl accordance agreed anymore appetite brutal chooses closely conjunction
consumers consuming cousin crashes crucial custody dairy defeated defects departure deposits dozens duties enjoys
enrollment evident feasible females femme fingers fossil genuine grocery hacia hormone imagery intimid invented jusqu
knees leisure lifted meantime moisture nuevo overtime prayers premiere prendre problema reduces simpler slightly sowie
stomach succes suffered suffering tackle tastes throat tienen tightly tragic tremend vintage warned whisper wurde
212132 apost autom award bald barr basis calling classic classical commun comple comput corner coron corp corps curve
decision divine dogs generic greater infer interview limited mari marsh marvel matter medal medic medical metro modify
mono monster novel objective opening paso patent patri radar reality realm recall recent rights schn sense serie serum
shows snap soci solar spell terror tower trail trial whereas
313100 academic academy adventures agricultural agriculture approximately associates basketball beautiful beauty
certainly championship collaboration communications constitutional corporate corporation council counsel differences
economics economy electronics excellence gospel guardian guitar harbor illustrated improvement independence industries
institutional instruments leadership legislative mathematical mathematics measurement municipal nursing opportunity
participants philosophy photography publishers publishing revolutionary southeast standards syndrome technical
technologies technology television territory throughout transportation veterans volunteer warriors
233333 adalah ailure ainty amespace amework ancement andidate asterxml ataset aternion atinum atisf cedure chten
clamation cription ctrine dapat ducation enerator gomery hattan heeft ibrary icted ictionary iddle ields ificant
ificar ifications iliar ippet iquid irebase leetcode ointment olicy ombie ombres omething oundation ountry pects pherd
pheric plements ponses riority stitute stitution ublish ukkit umeric uminum urtle ussian ylum ymbol ystal
333100 afghanistan apollo baltimore bangladesh bristol brooklyn brussels caribbean catholic colombia columbus dakota
deutschland fernando francisco garcia georgia glasgow hampshire hughes indianapolis indonesia israeli jennifer kennedy
malaysia medicaid minnesota mississippi moscow muhammad nashville nevada nicholas nigeria norwegian olympic olympics
palestinian philippines phillips phoenix pittsburgh reynolds russell samsung santiago sebastian singapore soviet
thompson turkish valentine vancouver vladimir
111222 addr adj ads align arr bits btn buf chars cmd cnt cond deg dic env exc exist expr fee filename forms headers
heading heap idx impl inline logo nil nome obj ops paths poss prev prod props psi ptr repo req rows slice slide span
src swap sym theta timestamp trim username vu wrap
212103 authority authorization awards basically calcul casino clearly commander commercial community companies
compared constitution continue corpor corpus delivery discussion documentation documents generally greatest heritage
highway initialize insurance interactive interior marketing monitor patients popular population pressure purple
recording sciences signals signature silicon similar simulation solutions speaker speech spirit statistical supply
tourism traffic trainer variables whenever
222221 ascii cbd cbs cdc ceo cms covid cw dvd epa fbi fda fifa gdp gnu gps gpu hiv hq ibm lcd llc mlb mls mpi mvp nasa
nato nba nbc nfl nhl nhs npc nsw nw nyc pwm rpg rss sdk sms spi ssd suv ufc vii vpn wwe xp xv
123333 adium adoop adores apture atalog atility atoes atrix attering attrs cciones ederal emplo enerate ennes ennis
ibility icago ically ician icians iciary icious icture idding ieves iffs iforn imento ipher istani istry itaire ively
iversity ividual ixels ocado onders orean ounce ovies ubble uesta uesto ulous umbing ungen utorial utsch
213333 aconte adequ anderen annoy argued arguing arrives barely bypass clicks containers creatures cuisine dedication
defeat dentro dosage earned etwas fertil grinding ihre javax oscill outfit pricing prolong pygame rapport receives
reliable relying reveal ruled searched settled solely spends strips stupid todas upside urgent useless valeur valuable
varying vendors wearing
112223 alias ange anger antes antic ashes attach avez axe axes chez choices derive dots educ elif eller essa ether
forming grams helm icons indic ingen ions leased lets lett locked lying nums older onde ordin oste ours owed owing owl
quiz roller roots slug tons undo
111123 again argument axis chain chem club detail enable fetch folder former grant ground items jobs joint know known
language layer layout leave length letter life merge mesh named orders others own product question queue register
render route safe storage style timer types vector video winner
111100 although assembly business calculate categories central configuration confirm construction dashboard
destination destroy different digital dynamic employee encoding environment family frequency identifier instead lambda
library little management multiple priority published references registration repository should something sometimes
specific though through transaction transfer transform transport upload written
223333 abeled abric adesh adians agination agora ammen aptive arehouse edium emony eneral eneration ervice eslint
etric etrics forcement iciones icios ieved ilters imately includ nueva ospel ourses pecial pliance plied ploy queda
quisite quisition strcmp tecn tidak uridad urring ursive uspend ussen uzzy xygen
312233 adults cancell conceptual deaths delayed depict depois depuis descriptions descriptor diesem dieses diverse
doctors drugs elabor especial eternal experts hunger moments numerical numerous paintings providing reducing regarding
repeated securing sempre shortage shortest shortly sporting stayed staying sudden terminate terminated toward useful
victim wanting
211100 additionally browser candidate challenge classification constructor development difference employ enterprise
evaluation exercise experience experiment experimental federal graphics instruction integration migration movement
organization originally pipeline preferences promise publisher received reports schedule syntax systems together
transactions translation treatment unfortunately universal university updates utilities welcome
123323 acked amples ateur atever ational ductor ected ectors ersion icans icked icken icking icky ieux ieve ifting
ington ircle iscal isco istas istent istical istics isting istle ithub mentation ongs ternal umbs ungs upport urrent
urry uteur utton vidia ysis
223233 acebook acement bourne brasil burgh cerpt cesso claration cohol cribe elimin elseif ervation ference ferred
fluence folio gypt igital igung ipsum itness loquent mediate mkdir nehmen ookie ossa otlin otted precio prelim razil
registr riends scriber ursor valuate versation versch
233300 amsung ancouver andidates androidx cheduler criptions cripts elenium emetery emporary etheless ierung ifecycle
ifferent ificado ifornia ikipedia ilibrium imbabwe imensional incinnati inecraft ipheral itzerland ometimes onymous
ponsive positories riteria riterion stellung structions ublisher vironment waukee wicklung ylinder ynomial yntax
312100 administrative administrator broadcast cabinet conservation conservative crazy developer diamond downtown
emergency entertainment executive governor hopefully investigation investment laboratory liberal liberty mercury
monitoring municip northwest proceedings regardless researchers securities situation society soldiers southern studies
studios suddenly survival ultimately wildlife
122211 ase asp aws bf bm bn dn fk fw gb gd hd hh iu kt lc lf lm lr lv nf nk qr rl rn rp rv ssl tn ue usa vc vp vt wm
ww xl
221122 alex alice apr bah bern brad carl dave david dick eric feb fran greg hong hz iran jay jess jim joe jul kent leo
leon mah marc mary mex mike mrs neil paris paul peter tai thu
310300 achievements ancestors circumstances consciousness controversial controversy demonstration enhancement
fascinating forgotten guarantee hydraulic incorporate internationally jurisdiction laundry necessity nutrients
nutritional obligations opponents peculiar pessoas phenomena phenomenon pregnancy privilege privileges recruiting
recruitment ridiculous sacrifice struggled struggles struggling unemployment vitamins
112212 able ache ain ank ard ary ate ect ers eta ew ile ing ion ist kg km lease ler ment mx ning ou ov tk ub ud uid
unc urn vid ware wp ys yy za
332100 african alexander argentina australia australian bradley brazilian carolina charlotte columbia douglas florida
harris harrison iranian islamic japanese jefferson jeffrey jessica johnny johnson joseph kentucky mexican november
pakistan raymond robinson scotland scottish shanghai taiwan vietnam williams
112200 abilities activities availability classified coordinates credentials dependent embedded essential excluding
exports grades identified including operative paragraph percentage placeholder placement portfolio processed quarters
respond scripts spoken stairs subscribe thermal undefined unsigned visibility visited worthy
222232 aji atmos awan bara commend compr corre curity delle donne herit herm incip incor insic metic metros moder
natur nich passe popup rawing realiz redux retval serif slee statist stdio subview unate volunt
111233 allowed answers assets closed contacts digit dispatch elem entities entries expand labels latest mapper margin
matches movies nodes override padding parser payload pending profit seconds sorted stroke toggle utils validator
wrapper zoom
123233 abolic alous amination ampion anium apolis arians arios ergy essions geben gebra ibly ificate ificial igious
igkeit itted itting levant ponent ponents pository prises ritical umbled venir vention ventory verages verted verter
112100 analysis anonymous architecture assuming boolean children conditions consider currency dependency economic
electric framework friends geometry horizontal hospital individual javascript negative operations parallel performance
perhaps previous relations relative represent temperature usually
222200 analys carousel dabei democr destruct disappe disposing empresa enance enumerable firefox fprintf grandes
mongoose nonatomic nuestra okemon organis orlando provinc roadcast segunda serializable textarea tokenizer tooltip
trauma typography uploads vanilla
313303 absolut absurd commodity decorated delighted delimiter deserve desirable desperate discusses distinctive
dividend divorce governing incentive incentives interfere interventions muito overnight overseas passionate pursue
pursuing pursuit sleeve sollte spirits subtle voluntary
211233 bounds bucket buttons closing compiler conclusion cube deleted digits discount equals exceptions filters fuel
listener mutable mutation notifications pairs pane prompt providers receiver released resolver salary serialize
timeout tube
221133 albert andrew billy boston brian china chinese france friday german harry jackson james jane jason jean jeff
john jones josh july june kelly michael russ scott sunday tuesday york
112123 about angel angle anti attack berg choice claim ella extension formation haven help joy keep lane learning
license mental offset orient owner peak quality struct until virt
133300 ailability aneously ificates igenous igrations iguous irmingham irtschaft ogeneous ographic ographical ography
olecular ologia ologically ologie ologies ologist ologists ometers ropolitan ufficient ullivan ventional ymmetric
ynamics ynchron
213100 accordingly agreement appeals associate association behavior chairman citizen citizens considering educational
engineering infrastructure initiative innovation likewise optimization principal psychological psychology railway
recovery representative representatives retrieve sequential therapy
222132 atlas barack barb calif carter charl curt daten delhi initi iraq marco marie mario marx mason monday monte
natal pete peters prix sara serge spiel vlad volk
322100 americans brazil cambridge dublin european february frankfurt franklin furthermore gabriel graham hamilton
hollywood julian margaret matthew mexico michelle michigan navigator philadelphia republican republicans sheriff
sydney tennessee victoria
110011 a b c d e f g h i j k l m n o p q r s t u v w x y z
112112 ace amp ark ave ble ces cho eg ess gram ink iz lan lay ner og ont ow ox rol ry ster ug unt vent
212123 chef chest elder ethics extract gross knight labor labour merc queen scient seeing sister songs sons spark stir
summary swift tonight trying tyr ultra wool
222211 adc bbc cg cnn crc dna dns eof gf gmt hc hf hg isbn jp mw nv pci pv rna tcp tg usb usd utc
323100 alzheimer baptist belgium bluetooth broadway christian christians christmas christopher democrats federation
francis hamburg liverpool miguel muslims oakland safari september thanksgiving toyota treasury tribunal virginia
wisconsin
123223 acao achel ampa amped apters arded ctions essor ishes istic izable izard ization onds ongo ortal orted ortion
ouver rypt udent udge udget umble
121122 alan andy atl cole ctrl dal emer ford fred gary jon kat ken kim lee ron ross roy smith stan wal yu
222123 celt denver easter erik gaza jake jama joel jose kyle lyon oliver oscar porter queens roger sony spain thom
tyler utah
313203 automated awarded battles companion completing computers corrected debugging herself interviewed medications
monetary mujer resultado subjects subtract supervision terrorist travels warranty
111211 ao bs ds dt err fn fs js md nb nm nr ns od uri ut vm vs ws
112111 ae ct esp fo gh ide ig iv ko lt mg mk mn ot pdf pf rd ri wa
122200 assador assium atically atively clusions enario idades initely itarian neapolis ocomplete ograph ometric
plotlib println stellen umption usercontent viously
212130 against attention calendar claims crypto education extended extreme grammar heavy knowing legisl letters
merchant ministry rectangle safety typical ultimate
212300 absorption adjacent arranged attributed criteria criterion examines exemple glucose introduce introduced
possibilities possibility producers profitable replica screenshot suggestion suspended
111103 because character completed components computer constants controller controls matrix metadata middle processing
processor properties resources services species triangle
112232 autor compact compet curr dating datum lined lining lista liste listed ports prim radi require respect serve
volt
122230 ashboard ativity berries ensions ethyl imedia imiento inations itivity lichen licher ogene ogenic otechn
otherapy ultural webkit zeich
233323 ackage acking ackson ationale ayload ereum ibern ientos ifiable imest imestamp jectory odule plication reeze
uevo uthor yyyy
112132 another away division functional gren grey issue issues logger marine marks modern record scope subject submit
volume
122232 ajax aje ajes ancer awn estyle eurs mates matic metry mond otypes paces rence unas volution wards
133323 atabase ateral aterial ffffff ighth ights izza lymp odox ounds ullah ureau ushing ustain ustin ustom utdown
213230 achieve antenna bleeding choosing claimed claiming essays illumin indicator licenses mentions opposed oriented
rubber verbal verdict virtue
222212 bsd bv dg eee eek gbt gv hb jb mf mh nz onse sdl stm vf wf
322133 austral britain british bryan craig egypt franco jewish lucas marcus olymp palest philip pierre sanders stewart
victor
122221 aaa amd bst cia fh ftp iq ira irs jd nj png rw svg uss vat
213133 appeal coalition coffee cotton crisis engineer engineers harmon hundred noble physical physics prospect rifle
settlement spatial
223323 aptop edback eneric ersist ibile icient ilename itional ittest lobal ondo udents umbn utral ysical ysics
312300 acknowled answering demanding derivative described discounts elevation examined examining introducing measuring
promptly protocols rewarding simplified suggestions
123222 ablo agna ardi ideo ideos ification igation igion igma ismo ivate ivity ivot onna orry
010000 accommodate accommodation accompanied accomplish accomplished encouraging inexpensive merchandise neighborhoods
neighbourhood overwhelming refrigerator subsidiary tremendous
133330 anguage atherine avelength aylor elligence elligent elsius essional ichael itecture ockey owski rophic ynamic
233330 ampaign anguages ationship erialize ientras ighbor itionally ockets oucher ournament queeze raphics ruption
ustomer
010300 advertisement concentrations demonstrated demonstrates demonstrating guaranteed guarantees intriguing
practitioners sophisticated trabalho vulnerability vulnerable
122133 allen beck berry borg brew chester ellen gesch reich rica stadt stein wald
211132 compar design generated generation generator internet magic marker metal north overall tables texture
123322 ancial erca icated icial icide idden idual ixed ixel ixer ixon ocument
123330 achelor ateurs ichtig ickets ickness ivalent lectric ograf ouched pecific reshape upported
211222 adapter exam inject memo notify outlet outline pref preview stamp tick wow
213203 automation complain initiate initiated inspir inspire inspired mettre moderate recorded recordings spiral
222103 colorado commons donald lincoln manuel marina montana nacional norway october patrick warren
312133 bloom celebr monthly officer officers pepper prayer premier saints secretary surely victory
333300 autowired barcelona creenshot cripcion iagnostics lyphicon nebraska netflix nuestro readcrumb recherche
rencontre
222230 alendar ellido ensitive etails ifacts ifestyle izione layouts ownload producto renderer
223200 blueprint breadcrumb celona ehicle ferences fulness mulher napshot ozilla pentru ritten
332133 alberta alexand bruno hawai julie mitchell roberts sweden swedish tokyo ukraine
013200 celebrate celebrated celebrating celebration celebrity investigated investigating investigations investigators
societies
113233 neutral raising stood valuation vendor venture venue verse versions vertices
223300 cribed iciency ifference ircular keleton parency requency urrence urrency vetica
312203 constitute decisions designers designing designs diversity interviews marketplace specialized statements
313133 amendment commissioner courts deputy gardens mystery soccer streaming underground wisdom
323200 advertis benefici cryptoc cultiv diplom dispatcher kunnen merchantability staticmethod territor
333133 arabia cleveland dallas lebens orleans paulo portugal santos stefan stevens
211200 annotations classifier constraints contracts converter delegate executor literal transformer
212333 charming charset chunks excuse implant implied implies inflation perfection
222130 afghan angela arsenal berlin dennis oxford toronto yahoo zealand
323300 challeng enthusiasm gratuit illuminate propaganda redistribute refriger sistema stylesheet
112103 absolute composition decimal functions manifest modified overflow radius
112203 awesome checkbox continent controlled controllers interpret recipes requires
123230 izabeth izada izado izations ordinate orious rypto ventions
213330 anticip educate educated encuent inequality lectures mentally mentioned
222203 constexpr localhost realizar restaur servlet sprintf travers unately
223100 abraham airlines confeder edinburgh hebrew menschen mercedes spencer
223133 boeing capitol cruz hindu indians rogers simpson vegas
013300 cannabis conspiracy jewelry magnificent repeatedly respondents uncertainty
111232 callback dates docs keyword listing modal selector
112121 assert default dw kl nas pur return
112230 angular attachment extends helpers keeping owners productive
122112 ach bj gn isa ish kr ort
213223 abuse ankle igual laying nerve owns stere
223330 ainless ateway ersistence ersistent etailed itempty ungeon
310000 accompanying anticipated energetic entrepreneur entrepreneurs frustrated frustrating
313230 elderly jamais registering scientist scientists seguir younger
323133 buddh cameron canyon eagles hudson jews nepal
323233 crusher dolor gratis mercial nunca precated sacr
111223 codes roles routes sender verb visible
112130 chemical energy ensemble facebook otherwise questions
123300 ibilities icrosoft ictures ographics ordinates ospital
211203 characters completion constraint endpoint interaction requests
213222 espa foam ideas otros suffer waist
213303 compassion competent competit constitu meditation pockets
221100 chicago french london microsoft taylor thursday
223223 ainers amping arding essment ivial otive
232100 africa atlantic jonathan pradesh stanford stanley
310200 behavioral citizenship complaints hundreds incorporated prospects
313330 arrested blessing coconut impressive nervous spreads
111130 arguments groups products registry virtual
111200 encoder managed nombre threshold translate
111203 commands cursor keywords metric metrics
111212 bg dao ids img msg
112221 csv dfs pid ssh vl
113100 accounts associated graduate relationship vehicle
211103 collections composite keyboard purchase statistics
212121 pac pil sar sco soc
232133 arabic jacob julia lewis oregon
333200 arizona kotlin lombok louisiana venezuela
113230 velocity venues verbose verified
122123 anton erie lyn zeit
122322 ocation ocial utch uture
133233 achers amera ariat arius
210300 adequate necessarily necessary opposite
211130 dictionary dimension formula young
211232 compat overview signed sprite
212212 bw lob pw wk
212221 roi rpm sip voc
221132 charles maria sarah simon
222333 emitter enticate enticated inflater
223130 angeles arkansas ontario vermont
223222 igure ponse riend sofa
223322 ftware icator icense ssion
233133 greece jahre nelson ukrain
322233 franc migr pearance throwable
323333 pueden structor theoret trabaj
332130 bernard jimmy maryland rodrig
010200 beautifully counseling scholarship
113133 secondary verify vertical
113223 oxid oxide rolled
122111 bd roc uk
122203 incinn insula rightarrow
122333 ipeline occo urious
133223 ishing ishment ottom
211123 camera drug spread
212211 gc gw vb
213103 communication competition medicine
213322 anytime rgba upset
230000 ennessee orizontal umbnail
232200 atlanta jections stanbul
232233 ictions kenya runnable
312202 specialist specialists specialty
313222 cruc euros grasp
322103 charlie marshall pacific
323303 compreh protagon travail
333330 gebru hebben ottawa
333333 criptor criptors przez
030100 christianity pennsylvania
100000 akespeare ynchronous
111113 other roll
111131 check special
111221 exists ln
113200 conditional occupied
121211 gs gui
121233 finder picker
122132 mann mons
123200 istically ivamente
133200 allenge elihood
133322 ollow ussion
210000 passengers uppercase
210200 inspiration opponent
212131 methods purpose
212202 checker checkout
212330 attendance lyrics
213232 assertion socio
221123 ryan tony
221222 getter urls
221233 formatter shader
222121 raf spr
222322 entication lsx
223230 ordinator ugins
223321 gpio ieee
300000 adelphia iddleware
311133 students study
312103 recently soldier
312222 europ redund
313103 computing meteor
313232 startup warrant
322130 germany quebec
322200 administr barbara
330000 javafx mysqli
331100 russia russian
331133 israel japan
332200 austria joshua
333321 lgbt ncaa
000000 oklahoma
003100 hawaii
003300 sylvania
013000 diagnosed
020303 warranties
033100 egyptian
100300 achusetts
111230 registered
112120 rolling
112131 primary
112202 checked
112300 answered
112323 utter
112333 sqrt
113130 vertex
113321 https
113330 merged
120000 ithmetic
121112 arn
121121 qt
121123 asia
121221 cli
122130 ubuntu
122220 rollers
123213 ormal
123220 roduction
123312 ication
123313 ateg
123332 ussy
130000 ographer
130020 ategory
130030 ategories
132200 iseconds
132233 ramento
133320 ategy
200000 ibernate
202100 melbourne
203000 ylvania
210330 ongoing
211223 soup
211230 enabled
212102 checking
212111 dj
212322 intense
213130 athletic
213132 springs
213321 varchar
213323 mentor
221130 thomas
221203 interceptor
222300 objeto
222323 imiter
223103 medicare
223123 otto
223221 espn
230030 ategoria
232122 isaac
232130 antonio
232222 ression
232223 erts
232230 ichten
232321 bmw
233200 chelsea
233223 achment
233230 sterdam
233233 gnore
233303 incipal
233320 ategor
300100 ukrainian
310303 purposes
311232 started
312230 uncertain
312303 interpolation
312333 aspects
313130 structure
313332 interven
321300 enumerator
322122 doug
322203 deliber
323130 ethernet
323232 membr
323330 sondern
330100 mediterranean
330330 aceutical
330333 riendly
332103 saturday
333000 symfony
333223 essere
"""

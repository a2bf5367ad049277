"""What words cost: the commonest ones of the published vocabularies, with the most that any of these takes for each.

Facts of the vocabularies that `classes` names. A word is here if two thirds of them have a token for it, or if code and
pages often have it; those first that the estimator would count too high without. Six digits stand before the words that
they hold for: the tokens of the word as it is, with a space before it, with a capital, with both, in capitals, and in
capitals with a space. Each is the largest count of any vocabulary, and of the word behind any mark or before or behind
another hump of a name, where it is sometimes more than alone; 0 where nothing is said.
"""

from __future__ import annotations

# Both are written by benchmarks/class_words.py, and changed by hand nowhere. The first are words that take a token more
# (two where they stand twice) behind a quote, as in 'text', whose 't is one to some; and behind an escape, as in
# \nbelow, whose nb is one.
SEAMS = r"""
'Death 'Debug 'Debuggability 'Debugged 'Debugger 'Debugging 'Debuglevel 'Debuglog 'Debugreg 'Decl 'Declared 'Declares
'Declaring 'Declined 'Declines 'Declspec 'Decltype 'Declval 'Deep 'Deepbind 'Deepcopy 'Definitions 'Delegate 'Delete
'Deleted 'Dependencies 'Developed 'Developer 'Developers 'Development 'Developmental 'Discount 'Discounted 'Dispatch
'Dispatcher 'Display 'Displaytext 'Double 'Lloyd 'Manage 'Manageable 'Managed 'Management 'Manual 'Manuals 'Models 'READ
'READABLE 'READDIR 'READERS 'READFILE 'READILY 'READINGS 'READINTO 'READLINE 'README 'READTHEDOCS 'READY 'REAM
'RECIPIENTS 'RECORDS 'RECT 'RED 'REDIT 'REDUCING 'REDUND 'REDUNDANCY 'REDUNDANT 'REE 'REF 'REFCOUNT 'REFERE 'REFERRAL
'REFERRER 'REFERRING 'REFERS 'REFILL 'REFINE 'REFLEX 'REFLEXIVE 'REFUND 'REFUSAL 'REFUSE 'REFUSING 'REG 'REGARD
'REGARDING 'REGEL 'REGENTS 'REGEX 'REGEXES 'REGEXPS 'REGIME 'REGION 'REGIST 'REGISTER 'REGISTERED 'REGISTERING
'REGISTERS 'REGISTRO 'REGISTROS 'REGON 'REGUL 'REGULATE 'REGULATED 'REGULATOR 'REM 'REMAPPED 'REMOT 'REMOTE 'REMQUO
'REQUEST 'REQUESTED 'REQUESTER 'REQUESTING 'REQUESTOR 'RES 'RESIDE 'RESIDENTS 'RESILIENT 'RESIST 'RESISTANCE 'RESISTANT
'RESIZABLE 'RESIZING 'RESNAME 'RESORT 'RESORTING 'RESSE 'RESULT 'RESULTANT 'RESULTED 'RESULTING 'RESULTS 'RESULTS
'RESURRECT 'RET 'RETARD 'RETIRING 'RETRO 'RETURN 'RETURNCODE 'RETURNED 'RETURNING 'Receive 'Recipe 'Regex 'Regexes
'Regexps 'Region 'Register 'Registered 'Registered 'Registering 'Registration 'Registry 'Regular 'Regularization
'Regularly 'Resolver 'Response 'Restaurant 'Result 'Resultado 'Resultados 'Resultant 'Resulted 'Resulting 'Results
'Results 'SELECT 'SELECTABLE 'SELECTED 'SELECTING 'SELECTIVE 'SELECTOR 'SELECTORS 'SELECTS 'SESSION 'Season 'Second
'Secondary 'Secondly 'Seconds 'Secret 'Secretary 'Secretly 'Selected 'Selection 'Selector 'September 'Shader 'Shadow
'Shadowed 'Shadowing 'Shared 'Should 'Shoulders 'Shouldn 'Stack 'Stacklevel 'Stackoverflow 'Stacksize 'Stacktrace 'Staff
'Stage 'Stamp 'Stand 'Standalone 'Standards 'Standby 'Standings 'Standout 'Standpoint 'Stars 'Start 'Started 'Started
'Startend 'Starting 'Starting 'Startline 'Startloc 'Starttag 'Startup 'State 'Stateful 'Stateless 'Statement
'Statepoints 'States 'Statewide 'Static 'Staticmethod 'Station 'Stationary 'Statistics 'Stats 'Status 'Statuses
'Statusinfo 'Stay 'Still 'Stock 'Stockholm 'Storage 'Store 'Storei 'Storeutl 'Storm 'Storms 'Story 'Storyboard
'Storyline 'Storytelling 'Stream 'Streamer 'Streaming 'Streamline 'Streamlined 'Streamlining 'Streamoff 'Streamreader
'Streams 'Streamwriter 'Street 'Strings 'Stroke 'Stronger 'Structural 'Structure 'Structures 'Stubbed 'Student 'Students
'Studio 'Study 'Stuffed 'Style 'Submitting 'TRANSMISSION 'TRANSMISSIONS 'Texture 'Thank 'Thankfully 'Thanks
'Thanksgiving 'Their 'Theme 'Therefore 'These 'Theta 'Things 'Think 'Thinkers 'Third 'Thomas 'Those 'Though 'Thread
'Threaded 'Threadid 'Threadpool 'Threadsafe 'Three 'Threequarters 'Threshold 'Thresholds 'Through 'Throughout
'Throughput 'Throw 'Throwable 'Thursday 'Timeout 'Together 'Training 'Transaction 'Transactional 'Transactions 'Transfer
'Transform 'Transformations 'Transformative 'Transformer 'Transformers 'Transition 'Transitioned 'Transitioning
'Translate 'Translation 'Transport 'Transportation 'Transporting 'Travel 'Travelers 'Traveling 'Traversal 'Trigger
'Triggered 'Triggering 'True 'Truecolor 'Truth 'Truthful 'Truths 'Truthy 'VEL 'VELIT 'VELLE 'VEN 'VENGEANCE 'VENICE
'VENIR 'VENT 'VENTH 'VENTILATION 'VENTURE 'VENUE 'VENUS 'VER 'VERAGE 'VERBS 'VERDEF 'VERDICT 'VERGE 'VERIFICATION
'VERIFIERS 'VERIFIES 'VERIFY 'VERIFYING 'VERNEED 'VERNUM 'VERSE 'VERSION 'VERSIONADDED 'VERSIONED 'VERSIONING 'VERTE
'VERTS 'Vec 'Vector 'Vectorcall 'Vectorization 'Vectorize 'Vectorized 'Vectorizer 'Vectorizer 'Vehicle 'Vehicles 'Vel
'Velocity 'Ven 'Vendor 'Venir 'Ventilation 'Venue 'Venues 'Venus 'Ver 'Verb 'Verbal 'Verbatim 'Verbose 'Verbosely
'Verbosity 'Verbs 'Verdef 'Verge 'Verificar 'Verification 'Verified 'Verifier 'Verifiers 'Verifies 'Verify 'Verifying
'Verneed 'Vers 'Versatile 'Versatility 'Versations 'Verschied 'Verschiedene 'Verschiedenen 'Verse 'Versed 'Verses
'Version 'Version 'Versionadded 'Versionadded 'Versionchanged 'Versionchanged 'Versioned 'Versioning 'Versioning
'Versions 'Versus 'Versym 'Vert 'Verte 'Verted 'Verter 'Vertex 'Vertical 'Vertically 'Vertices 'Verts 'Very 'dataset
'deal 'dealings 'debug 'debuggability 'debugged 'debugger 'debugging 'debuglevel 'debuglog 'debugreg 'decentral
'decentralized 'decimal 'deck 'decl 'declared 'declares 'declaring 'declined 'declines 'declspec 'decltype 'declval
'decode 'decodebytes 'decrease 'decreasing 'decrypted 'decryption 'deep 'deepbind 'deepcopy 'deepest 'deeply 'default
'defaultdict 'defaulted 'defaulting 'defaults 'defaultstate 'defaultvalue 'define 'defined 'definition 'definitions
'degree 'delay 'delayed 'delaying 'delete 'delta 'department 'dependence 'dependencies 'dependency 'dependency
'dependent 'deployed 'deprecated 'deprecatedin 'depth 'derivative 'derive 'described 'description 'descriptions
'descriptive 'descriptor 'deserialize 'deserve 'deserved 'deserves 'designated 'designation 'desirable 'destination
'destroy 'destroyable 'destroyed 'destroying 'destruction 'detachment 'detail 'details 'detective 'deutsche 'developed
'developer 'developers 'developmental 'device 'diagnosed 'diagnostic 'different 'difficulty 'digit 'digital 'digitally
'disable 'discarding 'discipline 'discounted 'dispatch 'dispatcher 'dispatching 'display 'displaytext 'division 'doctor
'doors 'double 'download 'downloadable 'major 'majority 'manage 'manageable 'managed 'management 'manager 'managerial
'manifest 'manifestation 'manifestations 'manual 'manuals 'market 'marketplace 'meal 'means 'measure 'measured
'measurement 'measurements 'measuring 'medium 'member 'memberof 'members 'membership 'memory 'memoryview 'mentation
'merge 'mergeable 'merged 'metadata 'metric 'metrics 'minimum 'minor 'minorities 'minority 'minutes 'missing 'models
'modern 'modified 'module 'modules 'moment 'momentarily 'momentum 'monitoring 'month 'monthly 'monthname 'multi
'multiarch 'multiplayer 'multiple 'multiplic 'multiplication 'multiplicative 'multiplicity 'multiset 'recipe 'recipes
'recogn 'recognise 'recognised 'recognizable 'recognize 'recognized 'recognizer 'recognizes 'recognizing 'records
'reduce 'reflective 'regarding 'regardless 'regex 'regexes 'regexps 'region 'register 'registered 'registered
'registering 'registrar 'registration 'registrations 'registries 'registry 'regular 'regularization 'regularly
'regulated 'relations 'relationship 'relationships 'relative 'remaining 'remote 'rence 'requires 'respond 'respond
'responded 'respondent 'respondents 'respondents 'responders 'responding 'responds 'response 'responses 'responsive
'resse 'restaurant 'result 'resultado 'resultados 'resultant 'resulted 'resulting 'results 'results 'returns 'scene
'schema 'scope 'scopeid 'scratching 'scribe 'scriptions 'scripts 'scroll 'scrollable 'scrollbar 'scrolls 'season 'second
'secondary 'secondary 'secondly 'seconds 'secret 'secretary 'secretly 'securely 'security 'seed 'seek 'seekable 'seekdir
'segment 'segmentation 'segmented 'segmenter 'segmenting 'sehen 'selected 'selection 'selector 'senal 'separated
'separator 'sequence 'serve 'server 'serverhello 'service 'setting 'settings 'seud 'seudo 'shadow 'shadowed 'shadowing
'shadows 'shake 'shape 'share 'shareable 'shared 'shareholder 'shareholders 'sharp 'shaw 'shield 'shielding 'shields
'shift 'shiftwidth 'shine 'shop 'shore 'short 'shortage 'shortcomings 'shortcut 'shortcuts 'shortened 'shortest 'shortly
'shots 'should 'shoulders 'shouldn 'shown 'shuttle 'signal 'slide 'slug 'soever 'software 'something 'sometimes 'special
'specialchars 'specialised 'specialist 'specialists 'specialization 'specializations 'specialize 'specialized
'specializes 'specializing 'specialties 'specialty 'species 'spoken 'spring 'springfield 'sqrt 'stack 'stacklevel
'stackoverflow 'stacksize 'stacktrace 'stad 'stadt 'staff 'stage 'stairs 'stamping 'stance 'stand 'standalone 'standard
'standardize 'standardized 'standards 'standby 'standing 'standing 'standings 'standout 'standpoint 'stant 'stars 'start
'started 'startend 'starting 'starting 'startline 'startloc 'startswith 'starttag 'startup 'state 'stateful 'stateless
'statement 'statement 'statements 'statepoints 'states 'statewide 'static 'staticmethod 'station 'stationary 'stats
'status 'statuses 'statusinfo 'stead 'steadily 'step 'steps 'stepwise 'still 'stmt 'stock 'stockholm 'stones 'stood
'storage 'store 'storei 'storeutl 'storm 'storms 'story 'storyboard 'storyline 'storytelling 'strate 'stream 'streamed
'streamer 'streaming 'streamline 'streamlined 'streamlining 'streamoff 'streamreader 'streams 'streamwriter 'street
'strict 'strictly 'strictness 'string 'stringent 'stringification 'stringified 'stringify 'strings 'stringstream 'stroke
'strom 'strong 'stronger 'strongest 'strongly 'struct 'structors 'structs 'structural 'structure 'structured 'structures
'structuring 'stud 'student 'students 'studied 'studies 'studio 'studios 'study 'studying 'stuff 'stuffed 'stuffing
'stufft 'style 'styles 'stylesheet 'stylesheets 'subject 'subjectaltname 'subjects 'submit 'submitting 'subscribe
'subset 'subseteq 'substantial 'subtract 'symbol 'symbolic 'symbolically 'symbolize 'symbolizer 'symbolnum 'teacher
'team 'techn 'technical 'technically 'technician 'technicians 'technique 'techniques 'technological 'technologies
'technology 'teenth 'temperature 'template 'temps 'tenant 'terior 'term 'termcap 'termin 'terminal 'terminals 'terminate
'terminated 'terminates 'terminating 'terminator 'terminators 'terminfo 'terminology 'termio 'terms 'terra 'testing
'thanks 'thanksgiving 'their 'theme 'thermal 'thers 'these 'theta 'thing 'thingies 'think 'thinkers 'third 'those
'though 'thread 'threaded 'threadid 'threadpool 'threadsafe 'three 'threequarters 'threshold 'thresholds 'throttled
'through 'throughout 'throughput 'throw 'throwable 'thumb 'thur 'timestamp 'timestamping 'timestamps 'training
'transaction 'transactional 'transfer 'transform 'transformations 'transformative 'transformers 'transition
'transitional 'transitioned 'transitioning 'translate 'translates 'translations 'translator 'transmitter 'transport
'transportation 'transporte 'transporter 'transporting 'triangle 'true 'truecolor 'typeof 'vectorizer 'vehicle 'velocity
'vendor 'venir 'ventilation 'venture 'venue 'venues 'verbose 'verified 'verify 'verse 'versed 'version 'versionadded
'versionchanged 'versioned 'versioning 'versions 'verte 'verted 'verter 'vertex 'vertical 'vertices 'verts \absolute
\absorption \accompany \accompanying \accordingly \accordion \account \accountability \accountable \accountant
\accounted \accounting \accounts \accounts \accredited \accumulate \accumulator \activated \additional \addoffset \addr
\addrconfig \address \addressable \addrlen \addrlist \affiliated \aggregated \aggregator \alignment \allowed \analysis
\animation \answered \answers \apparent \apparently \append \appendix \appendleft \appings \apple \apply \appointments
\appro \approach \approached \approaches \approaching \approval \approvals \approved \approving \approxim \approximate
\approximation \approximations \attrs \authentic \authenticate \authenticated \author \authorised \authoritarian
\authoritative \authorities \authorization \authorize \authorized \authorizer \authors \automation \automotive
\avascript \awesome \awk \awkward \backend \background \backgrounds \balance \below \bench \benchmarks \benefit \better
\between \binding \black \blackburn \blackjack \blacklist \blank \blanket \blankets \blue \blueoakcouncil \blueprint
\boarding \boards \boat \booking \books \boolean \booleanv \boost \boys \branch \branching \buffer \builder \building
\built \builtin \builtins \bulletin \calc \calcsize \calculate \calculated \calculation \calculator \calculus \callback
\checkbox \checked \children \choices \classified \collect \collecting \collection \collectively \collector \collectors
\collects \colon \colonization \color \colorchooser \colorful \colorize \colorless \colors \colorspace \column
\columnist \columns \columns \commands \complete \completed \complex \complexes \complexities \complexity \conditional
\conditionalize \configuration \confirm \constants \construction \controls \correct \correctamente \correcting
\corrective \correctly \correctness \covered \curr \currency \currently \customer \decimal \decode \decodebytes
\decrease \decreasing \default \defaultdict \defaulted \defaulting \defaults \defaultstate \defaultvalue \define
\defined \definition \degree \delta \department \dependency \dependent \deployed \depth \depths \destination \destroy
\destroyable \destroyed \destroying \device \different \difficulty \digit \digital \digitally \disable \discarding
\discipline \discounted \dispatch \dispatcher \dispatching \display \displaytext \division \doctor \doors \double
\download \downloadable \early \economic \elements \embedded \employed \employee \employees \employer \encoded
\encodedpoint \engine \engineer \engineered \engineering \engineers \english \entrypoint \entrypoints \environment
\environmental \environmentally \environments \episodes \epoch \epochs \errors \events \exactly \examines \example
\examples \excellent \except \exception \exceptional \exceptionally \excerpt \exchange \excludes \excluding \exec
\execfile \execinstr \execle \execut \executable \executables \execute \execute \executed \executes \execution
\executionengine \executions \executor \execv \execve \execveat \execvp \execvpe \exemplo \exercises \exist \existential
\existing \exists \exp \expand \expand \expandable \expandable \expanded \expander \expanding \expands \expandtab
\expandtab \expandtabs \expanduser \expanduser \expans \expansion \expansions \expansive \expect \expectancy
\expectation \expectations \expected \expecting \expects \expense \expenses \expensive \experi \experience \experienced
\experiencia \experiencing \experiment \experimental \experimented \experimenting \expint \expires \expl \explained
\explaining \explains \explanation \explicity \explo \explode \exploded \exploding \exploitation \exploited \exploiting
\exploits \exploration \explore \explored \explorer \exploring \explos \explosion \explosions \explosive \export
\exportable \exporter \exporting \exports \expr \express \expresses \expressible \expressing \expression \expressions
\expressive \expressly \exprs \expulsion \extends \extension \extern \external \externally \externals \extra \extracerts
\extractable \extracted \extracting \extractions \extracts \extraordin \extraordinarily \extraordinary \facebook
\factory \failure \figure \filename \film \filter \filterfalse \filtration \flags \floor \fluids \flush \flushes \footer
\forall \force \forced \forceinline \forecasting \forest \format \formatdate \formation \formatters \formatting \formatv
\formed \former \formerly \forming \forms \formulaire \forward \forwarded \forwarder \forwarding \frames \framework
\frameworks \friend \friendly \friendlyname \friends \friendship \friendships \functional \functionalities \functions
\general \generalization \generalized \generalizedtime \generalstring \genre \gerald \glob \global \globalconfig
\globalization \globally \globalns \globals \globstar \globstars \goal \going \goods \google \gradually \graduate
\graduate \graduated \graduation \grammars \grams \grass \grassroots \groups \grund \guarding \guideline \guidelines
\helpers \holding \hooks \https \identified \identifier \imbalance \implementation \important \includes \install
\installable \installation \installations \installers \installment \integer \integral \integrate \integrated
\integration \interceptors \intercepts \interest \interestingly \interface \interpret \interpret \interpretation
\interpretations \interpretations \interpreted \interpreter \interrupted \interval \irmingham \irtschaft \italic
\iterate \iteration \iterator \keyword \keywords \labels \launcher \lemma \letter \lexername \library \license \linear
\linked \loaded \loader \loadereng \loading \locked \logged \logger \logging \logic \login \logout \major \majority
\market \marketplace \melbourne \memory \memoryview \merged \metadata \missing \models \modern \modified \module
\modules \moment \momentarily \momentum \monitoring \month \monthly \monthname \multi \multiarch \multiplayer \multiple
\multiplic \multiplication \multiplicative \multiplicity \multiset \necessarily \necessary \negative \neutral \news
\newsletter \newsletters \nonetheless \notation \notations \nothing \notice \noticeable \noticeably \notification
\numbers \numeric \numericstring \objects \observable \observations \observer \observers \occasionally \occup \occupancy
\occupants \occupation \occupational \occupations \occupied \occupied \occupies \occupying \occurred \occurrence
\occurring \ocomplete \ocomplete \office \official \offset \offsetof \ographical \ographically \ographies \operation
\operations \operative \operator \ophysical \ophysical \opposite \optim \optimisation \optimistic \optimistically
\optimizable \optimization \optimizations \optimized \optimizer \optimizers \optimizes \optimizing \optional
\optionalvalidity \options \origin \original \originally \otechnology \otherapy \others \otherwise \overflow \overflowed
\override \oxid \oxidation \oxidative \oxide \package \paradox \paragraph \paragraphs \parallel \parallelism
\parallelization \parallelized \parameter \parameterf \parameterfv \parameteri \parameterised \parameteriv \parameterize
\parameterized \parameters \parametric \params \parent \parentheses \parenthesis \parenthesize \parenthesized \parser
\partner \partnering \partnership \party \passengers \paths \patient \patiently \payload \payment \percentage
\performance \pharmaceutical \phase \phone \phones \phosphate \photo \photos \phrase \phys \physic \physical \physically
\physician \physicians \physics \physiology \placed \placeholder \placement \places \placing \plaintext \planes \plant
\plantation \planting \platform \platforms \played \plays \plug \plugged \plugging \plugin \pointers \points \policy
\policyid \policyinfo \policyqualinfo \portfolio \posit \position \positionals \positioned \positioning \positions
\positive \possible \posts \potentially \precedented \predict \predictable \predictably \predicted \predicting
\predictions \predictive \predictor \predictors \prefixes \prefixing \prereleases \present \presentations \previous
\primary \prime \printed \printf \println \prints \priority \private \privatekey \problem \problematic \processed
\processing \processor \product \productive \productive \productivity \productos \products \products \prof \profession
\professional \professionalism \professionally \professionals \professionnel \professions \professor \professors
\proficiency \profile \profiled \profit \profitability \profitable \program \programa \programma \programmable
\programmatic \programme \programmed \programmer \programmers \programmes \programming \progress \progressbar
\progressed \progresses \progressing \progressively \project \projectile \projecting \projections \projector \projects
\projects \prompts \proof \proofs \propagation \properties \property \propositions \props \protective \protein \proto
\provider \proxy \published \radius \raising \recipe \recipes \recogn \recognise \recognised \recognizable \recognize
\recognized \recognizer \recognizes \recognizing \records \reduce \reflective \refresh \regarding \regardless \regex
\regexes \regexps \region \register \registered \registered \registering \registrar \registration \registrations
\registries \registry \regular \regularization \regularly \regulated \relations \relationship \relationship
\relationships \relative \remaining \remote \requires \reshape \respond \respondents \results \returns \rightarrow
\rolled \roller \rolling \rotate \rotation \scene \schema \scope \scopeid \scratching \scroll \scrollable \scrollbar
\scrolls \secondary \seconds \securely \segment \segmented \segmenter \segmenting \selector \shadow \shadowed \shadowing
\shadows \shake \shape \share \shareable \shared \shareholder \shareholders \sharp \shield \shielding \shine \shop
\shore \short \shortage \shortcomings \shortcut \shortcuts \shortened \shortest \shortly \should \shoulders \shouldn
\shown \signal \slide \slug \software \something \sometimes \special \specialchars \specialised \specialist \specialists
\specialization \specializations \specialize \specialized \specializes \specializing \specialties \specialty \species
\spring \springfield \sqrt \standard \standardize \standardized \standing \starting \statement \strictness \subject
\subjectaltname \subjects \submit \submitting \subscribe \subset \subseteq \substantial \subtract \symbol \symbolic
\symbolically \symbolize \symbolizer \symbolnum \teacher \temperature \temps \termin \terminal \terminals \terminates
\terminating \terminator \terminators \terminfo \terminology \terms \testing \their \theme \thermal \these \theta
\timestamp \timestamping \timestamps \transaction \transactional \transfer \transform \transformations \transformative
\transformers \transition \transitional \transitioned \transitioning \translate \translates \translations \translator
\transmitter \transport \transportation \transporte \transporter \transporting \triangle \typedef \typedefs \typeof
\underline \vehicle \writers \writing \written \ymmetric \ynchronized \ynchronously
"""
COSTS = """
110011 a b c d e f g h i j k l m n o p q r s t u v w x y z 111111 ab ac acc act ad add af ag ah ai ak al all alt am an
and any ap api app ar are arm art as asc ast at au av az ba back base be begin bi bl bo br bu by ca cad cam can cap car
cat cd ce ch ci cl co code col com con count cr cre cs cu cy da data date day db de def di do dom down dr du ec ed edit
el em en end eng ent ep eq er error es est et eu ev ex fa fe fi fig file fin fl for fr from ga ge get gi gl go gr ha he
head ho id if il im imp in info input insert int io ip ir is iss it json ke la le led left li line lo loc log lu ma mac
map max mb mc me mem mi mic min mit mo mr ms mt my na name ne net new no not note null num ny ob of off oh ok ol om on
one op or order os out pa par part path pe per ph pi pl po pol port pos post pr pre pro ps pt pu put py qu ra ram re
read red ref reg rem res ret rh ro ros rs run sa sc se sec select sem set sh sha si sk sl sm sn so sp sql sr st str su
sum sw sy ta table te ter test th the ti time to todo top tr ts tx type ui ul um un up update ur url us use user va val
var ve vi vo we wh who win work xi xml yes 111112 age ale ang ans ant arc arg ash ask ath att ax ay bad ber bit bug che
den der dir ek ell ens enter entity eth ext face form ger hi home ice ign ik ill image ind item its ja jo ka kn lab last
les let lex lock ly mer ng ni nu old ord our qual que quest rect request rom row rx see seq server session son source
ton tor try ty ult und vel ven ver web wi wo word ya yo ze 111113 other roll 111121 abs action aj aut aw bal bar bas bet
big cal call cas case char class color comm comp const cont cor create cur dat debug dec del delete des desc description
div doc don esc event false fat first free function gener gre group have her here high html http inc index inf ins
integer inter into join key like lin list local lord main man mar mark mat med met method mod mon mu must nat next nor
now number object oct only open output over page pas pat pet pop project public rad raw real rec rest right sat ser sig
sim size sol spe start stat state status std sub super system tag text that then this three tri true tu union value
values vol war was when where with you your zip 111122 abb access active actor added adding address admin adv aff after
agent air alert ali alle allow along also altern amb ana anal anim ann anne apple application apply appro apps arch area
args array ass asset atom aug auth auto avg bag ball ban band bang bank based bat batch bay bean beat bed being bel bell
below ben bes best beta bill bin bind bio black block blog board body bon book bool boot border bot both bound box boy
brain brand bre bright bro bron buff buffer build bur burn bus but button buy byte cache camp cannot card cards care
cart cases cast cause cell cent center cert cha chan change chapter chart chat chi child city click client clip clock
clone close cod coin coll colors column comb come comment commit conf config conn connect cons contact context conv cool
cop copy core cos cost cou cover created cro current custom cut dam dan dar dark das database days dead decl deep delay
dem demo dest det dev device dict did die diff dig dim dire direct dis disc display dist does dog domain done door dot
double download drag draw drive driver drop due dur each edge editor ein ele elect element email emp enc entry enum equ
equal even ever example except exec exit exp expect expl export fab fac fact fail fair fall fan fant far fast feed fel
field figure fil files fill filter final find fine fire fish fit five fix flag flash flat flex float flow fly font foo
food foot force fore forest format fort found four fox fra frame fre front fu full fun func fund gal game gar gas gate
gen geo git give god gold good got gran grand gray green grid gro gu guid had hal hall ham han hand har hard has hash
hat hay header heart heat height hel hell hen hero hex hey hide his hist hit hol hold holder hom hon hook hor host hot
hour house how hu hub hum hy ich icon ident identity images imm import include information init inner inst instance
internal inv invalid iron iter jack jam jan java je jer jet job ju jud jun just kal kar kh ki kin kind king kit kon ky
label land lang las lat late later law lead leaf lean leg len less level lib lie light lim limit linear link lists live
load location long look los loss lost lot love low lower mad made mag mail make mal male many mart mas mask mass master
match math may mean mel member memory men menu mes mess message meta micro mid mil mill mind mini mir mis miss mock mode
model models mont month mor more most mot mother mount mouse move movie mult mur mus mut nam names native nav near need
neg never news nice nick night node nom non none norm normal notes notice notification nov occ odd offer once online
oper opt option options orange org orig pack pad pages pair pal pan para param parent park parse parts party pass
password past patch pay ped pel pen perm pers person phi phone photo pic pick pin pipe place plan plant plate play
player please plot plus pod point poll poly pool por portal position pot pour pow pred pres press pri price print prob
proc produ prof profile program prom proof prop proto prov proxy pub pull pure push qi quad quant query quick quote race
rain rand range rank rate ray reader reading ready refer regex region rel release ren rep report reset resource resp
result results rev review ring road rob rock rod role roman room root rose rot round ru rule running sal sales sam same
sample san save say scale scan sch score screen script sea search second secret section seed seg sel selected selection
self sen send sent sep serial service sets sex share she shift ship shop short shot show side sie sign sil sin sing site
six skill skin skip sky slot slow small soft some song soon sort sound space spec spin spot stack stage stand star stars
states static station stats ste step still stock stone stop store storm story stream string strings success such suite
sun sup support sur sus syn sync sys sz tab tags tail take tan tap tar target task tax tech ted tel tele temp ten term
testing tests tex than their theme there these they think thread throw thus tim times tip title tok token tom too tool
topic tot total tour tra trace track trade trans tre tree tro tur turn tw two typ under unique unit units unknown upon
usage used users using util valid van vari vec vers version vert very via view vis vision wait wall warning wat watch
water wave way wed week weight well west what while white why width wil will wind wire wood words works world write
wrong wy yang ye year yet zen zero zone 111123 again argument axis chain chem club detail enable fetch folder former
grant ground items jobs joint know known language layer layout leave length letter life merge mesh named orders others
own product question queue register render route safe storage style timer types vector video winner 111131 check special
111132 actions audio author balance basic better between calc called charge clean clear collect collection command
comments common company compare complex compute configure constant content contents contin contract control corn correct
delta directory document empty events expected factor failed games general generate great handle initial inside
interface interval leader lines linux listen manual market media much music objects patient pattern power process
projects radio required series serv sigma signal sleep social solid solution speed spring starting statement town train
variable within without 111133 additional alignment almost alpha already always amount anchor android animal animation
answer around async average binary binding birth born bottom bridge builder built bytes cancel category cells changed
changes channel church circle classes cloud cluster columns complete component connection console construct container
contains convert cookie could counter course credit critical cross customer dataset details dialog direction disk
distance duration earth effect either elements embed every examples exception exchange execute existing express
expression external eye factory father female fields film fixed focus follow forward future gamma gender gene given
grade graph guest half handler having health hello hidden history hours human install instrument interest journal large
legal linked links liter machine maker making manage manager material members messages missing mobile money motor multi
national natural nothing numbers organ origin original outside package panel paper payment picture piece plain points
policy predict prime problem production progress property provider python quarter random rating ratio really reason
recipe reference refresh regular repeat replace reply response reverse rich risk rotation router rules runtime schema
school season security setting settings shadow shape shared sheet shell simple since single socket split square staff
street strip student studio supported surface switch symbol talk tasks template thanks third those today tools touch
training transition tuple uniform unless updated upper utility validate validation views walk weather website whether
which widget window windows would writer writing years yellow 111134 arguments groups products registry virtual 111143
because character completed components computer constants controller controls matrix metadata middle processing
processor properties resources services species triangle 111144 assembly business categories central configuration
confirm construction dashboard destination destroy different digital dynamic encoding environment family identifier
instead lambda library little multiple priority references registration repository should something specific though
through transaction transfer transform transport upload written 111154 calculate 111155 although employee frequency
management published sometimes 111211 ao bs ds dt err fn fs js md nb nm nr ns od uri ut vm vs ws 111212 bg dao ids img
msg 111221 exists ln 111222 addr adj ads align arr bits btn buf chars cmd cnt cond deg dic env exc exist expr fee
filename forms headers heading heap idx impl inline logo nil nome obj ops paths poss prev prod props psi ptr repo req
rows selector slice slide span src swap sym theta timestamp trim username vu wrap 111223 codes roles routes sender verb
visible 111232 callback dates docs keyword listing modal 111233 allowed answers assets closed contacts digit dispatch
elem entities entries expand labels latest mapper margin matches movies nodes override padding parser payload pending
profit seconds sorted stroke toggle utils validator wrapper zoom 111234 registered 111243 commands cursor keywords
metric metrics 111244 encoder managed nombre threshold translate 112111 ae ct esp fo gh ide ig iv ko lt mg mk mn ot pdf
pf rd ri wa 112112 ace amp ark ave ble ces cho eg ess gram ink iz lan lay ner og ont ow ox rol ry ster ug unt vent
112121 assert default dw kl nas pur return 112122 account activ acts actual agents ages aid akt alter amber among anth
appe append aqu areas arms arrow arts aside aud auf aur aus aux bab background bak bars bash beam bee been before beg
bere bert bib bid bil blank blue boat bol bold bone boost bor bos boss bour bow boys bra bras bread brid bud bul bull
catch cel cer chap cher chin chip chr chrom cir cit cle clin coal colon coming cord cot cream creation creator crit crow
cul cum cup dad dag deal deck define depth din dob dra dre dro dup dy echo eff egg eh elle else emb engine era errors
este extra ey fake fal fed fen fer fest fib flags flight flu fol fon fork forum ful fur gain gan gang gap ged gel gem
gent ges gest gets gew glass gle glob global goal going gor gra gun gy hab hang hem hil hill him hin hind hip hole hood
hus idea inform inn intern iris jal jar kan kel ker ket keys kid kil kill kol kom ku lad lag lake lam lands lap lar lav
learn lem lev lic lid ling lion lip lis lit liv loan logic login lon loop lux mai mak mall mand mans mant maps mars mate
means meg meth mile mine ming minor mist mitt module mol mort mos mul nan nap nation ned nest nic nos nova nut office
orb ordered ost oval oz pain pare partner peer peg pent perform pes phase phen phys pie pine ping pit plat ple pole pon
pose posts pra priv private psy pun qui rac rag rail ran rap ras rat raz react reb redis remark remote remove rib ric
rice rid rif rig rim rip rise rit river rub rum said scar scroll sed seen shore sid sit som sta steps sto stre strong
stud tal tas tat tau tea team tem terms tes tet thing tit tol une uni uns unter uses vac valor vas ves vest vic vig vil
vin vine viol vir vit voice von vor vote vy ward wel wen went wer were whole wid wide wie wing wise won worker working
yard zh zu 112123 about angel angle anti attack berg choice claim ella extension formation haven help joy keep lane
learning license mental offset orient owner peak quality struct until verify virt 112124 rolling 112131 primary 112132
another away division functional gren grey issue issues logger marine marks modern record scope subject submit volume
112133 ability above abstract accept activation activity alien archive armed article articles artist assign atomic
attribute attributes authors available avatar bench bird bishop bond books branch break building burg chair chief choose
chrome chron circ commerce condition conduct court craft creating currently cycle danger definition degree department
docker doctor early elastic english ensure escape failure falls floor flower fried friend fruit girl github goods google
grass growth hammer helper horn horse implementation important includes iterator jets kernel legend loading major
measure medium minimum minutes modules moment observer occup official often omega operation operator optim optional
parameter parameters people percent period photos places plane platform players plugin positive possible present protein
psych rather records redirect related relation remember returns ridge roads robot rough scene secondary segment sequence
sharp shield software standard standing strict stuff teacher techn terminal tiny urban vertical visit visual whatever
wheel wiki woman worth writers 112134 energy ensemble facebook questions vertex 112135 otherwise 112143 absolute
composition decimal functions manifest modified overflow radius 112144 assuming boolean children conditions consider
economic electric framework friends geometry individual javascript negative operations parallel performance perhaps
previous relations relative represent temperature usually vehicle 112154 currency 112155 analysis anonymous architecture
dependency horizontal hospital 112211 aa abc bb bc bp bt cb cc cf cm cn cp cpu css cv cx dc dd df dh dl dm dp dx ea eb
ee ef eps fb fc fd ff fm fp ft fx gg gm gp gt hl hm hp hr hs ht hv ia ib ic ie ii iii iso ix kb ks lb ld lg ll lp ls ml
mm mp mv nc nd nh nl nn np nt oc pb pc pd pg php pk pm pp rb rc rf rg rgb rm rr rt sb sd sf sg ss sv tb tc td tf tl tm
tp tt tv uc utf uuid uv vr wr wt xx xxx xy 112212 able ache ain ank ard ary ate ect ers eta ew ile ing ion ist kg km
lease ler ment mx ning ou ov tk ub ud uid unc urn vid ware wp ys yy za 112221 csv dfs pid ssh vl 112222 aan abol aby
acet acre acting activate actors acute aden agar aged agg aging ago agon aim aired ais aka akin alg alk alla aller alloc
ally alone alph als amen ami ample anc anch anno annot ano ante ants apo apt aren arena argv arte arter asks aston attr
auc aver aware awk backend backs bard bare beans bei bek bis blast brace bred bx bye caps cars cats ceil cess cfg chant
chor cin cis cite cls cmp cock coli cols conc cone contr coord cout cov cred ctx cue curl dated deb decode dens dess dex
dia ding disable dit doch doi doors dos dst duct dump dv dz ear ears ech edited een ego ei ej ela elf elong eman emit
encode ende ended ending ends enth entre eros esa ese eso esse estr etc ett eval extern fare fic finite flush fmt fois
fold forth frac fy gens geom gin gon goto grad hair halt haul heads heel held hes het heure hid hips hire hover href ici
icy ideal idi iff ih ij ils inch incl inde inh ini inputs inte ips isol jav jour jug kj kv kw lace lect leur lies lig
lik lint lod logs lst lust lys mana meal medi mens mere meter mins minus mouth mov mph mund mys nen neo nets nie nim nit
noc nost notation nx obra obs och ode oder odor oft ole omit ones onto opens opp oral orch orden ore orth osc osp oss
outer outs owe pace paid params pard pause pec pend perc pert phon pip pis plt plug ply portion posing posit pron prot
pts puts px quel quer quit quo quot rack rage raid rang rated ration rece reck rede rename rend rent repr requ rer resh
rez ride rin ris rug rust scr seat seek sei sein sequ ses sett shake shine shown ski slash sole sq stab stable stance
stem stick strap sty tee teen termin thy tid ties til ting tmp txt uh uint uma una unde uno unto upp ups urg usable uso
usu usual vals valu vars vet vez vide vie viz void voir vos wand wart ways wear whose wig wor www wx xe xor xs yer yn yr
zer zi zig zo zw 112223 alias ange anger angi antes antic ashes attach avez axe axes chez choices derive dots educ elif
eller essa ether forming grams helm icons indic ingen ions leased lets lett locked lying nums older onde ordin oste ours
owed owing owl quiz roller roots slug tons undo venue verse verte 112232 autor compact compet curr dating datum lined
liner lining lista liste listed ports prim radi require respect serve volt 112233 activated allocate angles animate
animated annotation arrays artifact await bands blocks blogs boarding boards booking borne burst bury charts chlor
coding comes comfort compile connected covered cuts defined edges encoded endif epoch epsilon estimate estimated faces
felt filled flies folk footer forced formed frames fully fusion geme genes genre holding holds hooks houses ignore immer
issued iterate iteration jours leading lemma lights loaded loader locations logged logging logout lots lung makers
matched mysql numeric ought owned paired panic paste phones phrase placed placing planes played plays plots ponder posed
positions printed printf prints punk quiet raise rates recht recogn reduce regulated remaining resolve rides rooms
rotate rounded rupt seller shots stead stones styles subset sudo temps tenant terra thumb typeof underline variant
vendor versions vertices walls weak wealth weights witch yards zeros 112234 angular attachment extends helpers keeping
owners productive velocity venues verbose verified 112242 checked 112243 awesome continent controlled controllers
interpret recipes requires 112244 abilities activities classified dependent essential excluding exports grades
identified including operative paragraph percentage placeholder placement portfolio processed quarters respond scripts
spoken stairs thermal undefined unsigned visited worthy 112253 checkbox 112254 embedded subscribe 112255 availability
coordinates credentials visibility 112323 utter 112333 sqrt 112344 answered 113144 accounts graduate 113155 associated
relationship 113223 oxid oxide rolled venture 113233 neutral raising stood valuation 113244 conditional 113255 occupied
113321 https 113334 merged 121112 arn 121121 qt 121122 alan andy anna atl cole ctrl dal emer ford fred gary jon kat ken
kim lee ron ross roy smith stan wal yu 121123 asia 121211 gs gui 121221 cli 121233 finder picker 122111 bd roc uk 122112
ach bj gn isa ish kr ort 122122 ada aires ald amar amer amy andre ara ari azure bach bart bec bild buch cape chen dale
dong edu eld eli eur ez gov grund hart haus hed hoff hos hou ian indy ital ivan jac jah jen jes ji jin jos kes kir kok
kor kov ley lor lov mare moz mun nar nel nik ober obl ori ott rab rah raj rex rey rick rio rog rome rou rus sey shaw shi
sic stra teil ther uber vern vik wang wei wright wu xia yan yi zag 122123 anton erie lyn zeit 122132 mann mons 122133
allen beck berry borg brew ellen gesch reich rica stadt stein wald zhou ziel 122134 gerald ubuntu 122211 ase asp aws bf
bm bn dn fk fw gb gd hd hh iu kt lc lf lm lr lv nf nk qr rl rn rp rv ssl tn ue usa vc vp vt wm ww xl 122212 aba ack acs
ars asa ata atch ated ater ation ator ature ck cla dk ence ense ents eo ere ern ero ert ery fff ffff fg gis hk ial ible
ical ices ick ics ient ies ifi ift ify igh ight ild ime imo inct ine ings ique ision ite ith ition itle ity ive iver
ives ize ject jk kc mq nal oa odo ody oe ong oo orm ors ory otal ote oth oto pn ql ream ree rk rop tern ua ual uble uf
ule ull ume ument ure ush ust ute uth ution ux vd vg vn wb wc wd xt xxxx yp ype zz 122221 aaa amd bst cia fh ftp icc iq
ira irs jd nih nj png rw svg uss vat 122222 abad abama aban abar abe abel abet abeth abi abil abl abled ables abo abr
aca acci acco aced acent acer aces aci acic acing acion acity acle acles aco acon acos acter acters actic acy adal adas
adata aday adb adder ade aded ader aders adh adi adic adin ading adio adir ado ador adors ados adt ady afa afe afi aga
agan agas agem agen ager agers agh agi agle agn agne agra agram ags agt agu ague agus aha ahan ahi ahl ahn aho ahr ahu
aign ail aine aint aire airo ait aja ajo ake aked aken aker akers akes akh aki aking akis akk ako akov aks aku aky ala
alam aland alar aled aler ales alf alin aling alion alis ality alled allery allet alling alls alm alo alog alon alsa
alse alth aly ama aman amas amat amate ame ament aments amic amide amil amin amine aming aml amm amma amo amon amos ams
amt amu amus anca ance ances anche ancy anda andal andas ande anded ander andi andid andin andle andler ando andom andr
andro ands andum ane anel anes ani ania anic anie anine aning anka anks annel anner anni annon anny anol anon ansi anst
anta anto antom anut anya anye anz anza apa ape aped aper apes aph aping apis apon apor appa apped apper apping appings
appy aps apse apur aq aque aram aran aras arat arb arde arden ardo ards ared arel arem ares arest aret areth arf arga
arge arger arget argo aria arine aring aris arity arks arl arma armac arna arning aro aron arp arra arse arta arten arth
aru arus asan asant asco ased aser ases asha ashi asi asic asing asion asis aska asm asma aso ason asper asse asses asta
aste asted aster asters astic asting astro asts asy atable atal atan atar atas aten atern ates atest atform athe ati
atic atics atile atin ating atio atis ato aton ators atory atos atra atre atro ats atta atter attern atti atu atum atur
atus atype atz auer aul ault ause ava avage avan avar aved avel aven aves avi avia avid avin aving avis avo avor avy awa
awi axy aya ays aza azar azard aze azi azine azu azy azz bage bef beit bers bery bia bial bian bie bing bla bled bles
bling boa bole bral byter cale caster cca ccc ccess cci ccion cdn cean ced ceed cek cen cence cep cept cers cery chal
chas ched ches chet chie chine ching chn chs cht chy cid cie cies cil cing cio cion cip cke cker cko cks cles cline
cling clus coe coma concat coni conom cpp cpy cq creen cret crete crets ctic ction ctl ctor ctype cus cz dater dbc dbo
ddd dea ded deen dek ders dez duc ead ean earch ebb eca ecd ece ection eda ede eded eder edi edic edin eding eds edy ees
efe eger eil eing eks ekt eland eled eler elig eline eling elled elles ello ellow elm eln elo els elt elu elve ely ema
eme emen ement emia emin emo emon emos empl ems emu emy ena ename enci enda endant endar endas enden endent ender enders
endl endo endor endum ene ened enen ener enery enes eness enet eni enia enic ening enn eno enos enses enta ental ente
ented entes enti enties entin ention ento enton enty enu eny enz enza eper eping eral eras erc erce erd ered ereg eres
erg eri ering erk erna erno eron erte erto erv esar esch eses esh esis esity esses ested ester estic ests esty esy etal
etch ete eten eter ethe eti etic etics etime eting eto eton etry ets etus ety etz eus fang fas fax fect fers ffe ffect
ffee ffen ffer ffic forall forge ften fter ftime fty gae gage geb gence gend gers ghan ght gia gie ging gio gment gom
gos gow gree gres gress gte gua gue gz hai hea hee heed heet hei heid heim heit hev hib hir hma hn hoe hof hra hta htt
hw iac iae iah iais iam iana iance ians iant iao iar ias iat iate iation iaz iba ibal iban ibe ibel iben iber ibi ibil
ibo ibr ibu ibus ica ican icate iced iche icing icion icip icit icity icl icle ico icode icol icos icro ict iction icum
icus icut icz ida idable idad idal idas iday idd ided idel iden idence idents ider iders ides idge idget idine iding
idis idity idl ido idor idos idth idy iec ied ief ieg iek iel iele iem ien ience ients ier iero iers iert iese iest iet
ieu ieur iev iew iez ifa ife ifen ifer ifest ific iform ifs ifth iful iga igan igate ige igen iger igers igg igi igne
igo igos igs igt igu igue ija ijk ijo ika ikan ike iken iker ikh iki ikit ikk iko ikt iku ila ilage ilar ilde iled iler
iles ilet ili ilib ilight iline iling ilit ility ilk ille ilo ilon ilos ilot ilst ilt ilty ily ima imal iman imar imas
imate imb imen iment imer imet imi imir imit imon imos imple ims imum imus imuth ina inal ince inda inded inden inder
indi indo inds inea ined inee inen inent iner inery ines iness inet inge inger ingo inha inho inia inic inin ining inite
inity inka inks ino inos inqu insi inson inta inth inton ints inus inux inx iny inz iod iol ione ior iors ios iot iou
ious ipe iped iper ipes iph iping iple ipment ipo ipp ipro ipse ipt ipy iqu iral iras irc ird ire irect ired ires iri
irical iring irit irk irl irm iro iros irst irt irth irus iry isan isans isas isc isch ische ise iser isers ises isha
ishi isi isin ising isis isk iska isl ism isms ison isp issa issan isse isser isses ission isson issors issy istar iste
istem ister isto ists isy ita itable itage itan itant itar itary itas itat itate itated itch ited iten ites itet iti
itic ities itime iting itis itled ito itol iton itone itor itors itos itr itsu itt itu itud iture itus itz ium ius iva
ivable ival ivar ivas ived ivel iven ivers ivi ivia ivid ivil iving ivo ivos iw ixa ixin ixo iy iza izz jad jang jas jid
jing jj jm jn jpg jt kd ked kee keit kers kip kk ksi kte ktop lage lain lash lass lated lation lder lear lec ledge leen
leet leigh lein lep lers lez lia lice lices lier liers liness lings lio lish lj lk lla lle lli llib loat loe loo lop lox
lus lut lx mage ments mers mez mia mina mino mith mium nah nama nant nda ndef nder nea neath nee nell ners nes ness ney
nez nia nin nings nis nown npm nte nten oad oauth oba obar obb obe obel obi obic obil obo obody obre oby oca ocal ocard
oci ocity ock oco ocode ocol ocr ocs ocus ocy oda odal oday odb oded oden odge odi oding odont odos ods oes oga oge ogg
ogh ogi ogn ogo ogr ogram ogs ohan ohl ohn oi oid oids oin oint oir ois oj oka oke oked oken oker okes oki oking oko oks
oku ola olan olar oled oles olf oli olic olid olin oline oling olis olith olk oll olo olog ols olt olve olver oly oma
omal oman omas omat omb ome omen omer omers omi omic omics omin oming omm omo omon omp oms omy ona onal ond oned onen
oner oney oni onia onic oning onn ono ons ony onz ood ook ool oom oon oor oot opa opard opath ope oped opes oph ophe opi
opic oping ople opo opol opro opus opy oque ora orable orage oran orc ordo ords ored orem orer ores orf orge oric oring
oris ork orn orna orne orno orns oro orp orph orr orro orrow orse orsk orta orte orts orum orus osa ose oser oses osh
osi osing osis osity oso oster ota oted oter otes otic otics oting otion oton otor otos ots otype oud oul oun ound ount
oup ouri ous ouse oust oute outes outh outine outing oux ova ove oved ovi ovo owa ows oxy oy oya paring peat pect peed
pei pez pha phan phe phis phy pies pite pler plex pline pling plit poon ported poser posta ppe pped pping pread ptic
ptide ption pto pton pty pus puted qa qd qp qq qs quence quent ques quet quin quis rade rai rais rait ral rame rance
rans rant raq rar rase rax rea reas reat reate reated redit redo reek reen rees reet regon rei rek rell rels rema reme
rena resa reso ress resse rets rett rew rho ria riad rial rian rical rices rics rie ried riel rier ries rift rij rik
rike ril rine rique rir rist rite rition rium riv rive rix riz roe roid roit roma rone rong ront ror rosis rost rote
rous rov rove rown rup rys rz scription sek seud sku sson stad stag stant sted stell sten sti stit stmt ston stract
strate strom sts stu tain tbody tec tein tek tera tered tero ters tery tha thal thead thon thur tic tings tion tml tos
tras trl tte tti ttp tz uan uant uar uart uary uation uba ube uben ubs uby uccess uce uced uch uchar ucid ucing ucion
uck uct uction uda udd ude uder udi udo uds ued uel uen uent uer ues uest uez uff uga uge ugg ugh ugi uil uin uing uir
uis uit uite uits uity uj uka uke uki uko uku ula ular ulas ulate ulated ulator uler ules ulf uli ulin uling ulk ulle
ulo ulos ulp uls ulse ulu ului ulum ulus uly uman umar umas umb umen umer umi umin uming umm umn ump ums umu unal unch
unct uned unes ung unik uning unj unk unque unte uo uos upa uper uple upt upy ura urable ural uran urar uras urate urb
urch ured urer urers ures urf urger uria uries uring urity urm uro uron urre urs urse urst urt uru urus ury usal usc
usch ushi usi usic usion usk usp usr uster usz uta utable uted uten uter utes uti uting utm uto utor utos uts utt uty
utz uu uve uvre uw uy uz uzz vana vard vation ved veis vens vere vey vh vier vim ving vio vod vre vv vw wan wap ween
weet weg wend wert wick wl wn wort xa xb xc xd xf xff xic ximo xin xit xo xyz yal yb yc yd yect yers yg ying yk yl yla
ylan yle yles yll ym ync ynn yon ysql yst yster yt yw yx yz zan zar zas zb zd zed zek zel zent zes zial zie zin zing zk
zm zn zon zos zs zt zy 122223 ably ached acher aches achi achine aching acht acies acio acker acks adia adow agens agger
agner ained ainer aining ains alen alez alia amble ammer amps anced anga angan anged angen angers anges anging ango angs
angu anking anned ansas ansion antage antan anted antis apers apest apter argas argest argin argon arial aries ario
ashed ashing ashion asket asure atched atches ately aters atha atham athan ather athi athon athy atial ations ativ ative
atives atorio atted atten attice attle atures axon ayan ayer ayers ayout berger blem ceso cheon chool chte cket clair
clude dera ector edia eeper eking elia ellan ellar ellers elli ellig elling ellite ells ellt elly emies enced ences ency
enne ensa ensed ensen ensing ension ensis ensity enson ensor ensors ensus ential ently erek eren erez eria erial eries
ernel erson erta erten erton erty esian esome essage ession etta ette etti eway ffield heck ialog ials ibles ichi icht
icia icio icker icket icks icles ield iente ientes iento iera ieval ifact ified ifier ifiers ifies ifik ifty ifying
igger igned ignon iked ikes iking ilen iley ilia ilio illa illac illary illas illed iller illery illes illet illi illing
illion illo illon ills illus illy imated iments imes imeter imize imore inar inary inas inate inated inator inders indre
inese inez inging ingle ingly ingu inker inki inking iona ional iones ioni ionic irts irty ished isher ishop isions ista
istan istant isted isten isters iston istory istro itect itel ither itions itive itives itter itti itude iverse izar
ized izen izens izer izers izes izing izon jected leep lege lement lene letal lete leted letes letion leton lette lich
mente nels neys obile ocket odel odes odia odies ogan ogen ogle ogra ogue ogy olia olla olph omain omed omes onces onder
onne onom oples ordan ording ordon oren oria orial orie ories orio orld orman oshi osto ostream otech othy otte otti
ouch ourg ourse ourt ouses ovan overs oves ovic ovie oving ovy owan ower plies quare quez quier quire quired quist raph
rene rika rodu roke ropa roph rophe ropic ropy roup rowing rowse rowth rying ryn sters ubes ubic ublic udad uded udes
uding udio ugar ugen ught ugin ugu ulent ulla ully ultan ultur ulture ulty umber umbo umed uments umes uncan unda unday
unden undle undos unge unning unta untime untos untu urance uren urent urface urname ushed usive usted usters uters
uther utions utta uxe velle velt venir venth verage verts ypes ystem zech zej zeug zzo 122232 ajax aje ajes ancer awn
estyle eurs mania mates matic metry mond otypes paces rado rence rette stown unas wards warf 122233 abei abling acious
acock acular adays adel ades adian adier adora affe agonal agraph agues ahlen ahren ailed ailing ails aily airs aiser
aises alore amed amel amente ames amiento amily amous anan anas ancel ancers ancia ancies ancing andez andra aney angled
anmar annah anners annes antly apons aptic arbeit archy arian arily arium arnings ascade ashire askell assa assed assic
assing assis asso assy asures atitis ativa ativo attery atura atural ausal avier avigation avirus avour azione bane bbox
berra bidden bons boro bourg bung cedes ceived celand chemy cido clipse cluded clusion clusive combe cott covery cular
culo culos dorf ecause elcome elen elfare elian emale empt enas enberg encer encia encias encies encil encing endra enez
ensive enzie essed essel ettes eyer feld fono furt gency gende genic geois gunta halten haps heets heimer hetic hores
hurst ially iane iano ibling ichen icher ichte icular idade idential idian iece ieder iences iendo ienne ieren ieron
ierte ierten ifax iffe iffer ifica iframe ihad ije iji ijing ijn ilian imming indow inely inned innen inois inski insky
intosh iolet iosis iously ipel ipped ipping iques iren ischen ischer ised isen isons issen italic itals itched iteral
itious itudes itures itzer ivals iveau jamin jango jian keeper keiten keley kins kinson lando lasses legate lehem levard
liche liest liga ligt linger llen malloc mitted naire naires nants nement nesty notations obby obia obox ocker ocks
ocular odied ogens oise olean olem olen oley ollen olly ologic olulu olved olves omatic ometer ometry omez omial ondon
onian onomy onym ools oons opia opsy orea orgen orian orney orneys orous orthy oscope osed osen osomal osome osph osta
osten oston otions otron ough oured ournal ousing outube oyer ozy pawn pected plier pons poons ppers prise psilon ptides
quets quiry rades reland reno richt rina riter rites ritic ritis rito ritt rogen rones ronic rons rowave rowser rozen
ruit sburg scribe scriptions sehen senal seudo shire soever sworth teenth teness terior tesy thers thood thouse ually
uario uchen uchi ucht ucker ucks uego uela uelle ufact ulates umann umatic ummer ummy umps unami unched unned unwrap
uous upiter uracy urbed usions veau velop velope vement verted verter viewport ville vious vised visor voke wares weets
weise wich wyn xico ylabel ylene ylon ynam ython zahl zier 122234 ashboard igraph imedia imiento lichen licher ogene
ogenic onacci ordination otechn ulence versed webkit zeich 122235 otherapy 122243 cliffe insula rightarrow 122244 assium
atically clusions enario enburg idades ocomplete ograph ophysical println usercontent viously 122254 withstanding 122322
ocial odus utch uture 122333 occo urious 123213 ormal 123222 ardi ideo ideos igator igion igma ismic ismo ivate ivity
ivot ocate onna orry otide otine 123223 acao achel ampa arded ardon ctions essor igner ishes istic izable izard onds
ongo ortal orted ortion ouver owment udent udge udget umble urnal 123233 alous anium arians arios ergy geben gebra ibly
igious igkeit indsay itted itting otomy ponent rogate umbled 123234 izada izado izards orious owitz 123244 istically
123313 ateg 123322 erca icated icial icide idden idual ilda ixed ixel ixer ixon ocide 123323 acked aryl ateur atever
atsu ersion icals icans icked icken icking icky ieux ieve ifting ington ircle iscal isco istas istent istics isting
istle ithub mentation onga ongs umbs unga ungs urrent urry uteur utton ysis 123332 ussy 123333 adium adoop adores atalog
atoes atrix attrs ennes ennis icago ically ician icians icides icious icism icture idding ieves iffs imento irling
istani istry itaire ively ixels ocado ocene omnia onders opathy osomes ubble uesta uesto ulous umbing ungal ungen utsch
123334 ateurs ickets ouched reshape rophy 123355 ographics 132223 oglob 132233 rowned 133223 ishing 133233 achers ariat
arius 133322 ollow ussion 133323 ateral ffffff ighter ights ounds ullah ulls ureau ushing ustain ustin ustom utdown
133324 ategy 133333 agher ailand amento aneous avascript ceptor iedad ilih ingham isease ittle olini ollar ology omba
ombre ommen opher ounded ousel ousse ucky uffix umped umping umpy ursday 133334 avelength aylor ichael owski 133344
aneously atoire iguous ufficient 133355 ailability irmingham irtschaft ographical ographies ymmetric 133356 otechnology
133377 ographically 211122 adam apart blo bob bring brit cab camb cash cele cold concept cong cook cow dash dear death
dep domin east eight flip frank fresh gab ghost hint hope intent introduction jump lou luc march marg matt mich mix mom
moon nature nine paint pear phil pont runner sab saint sale salt sand seven sher sir smart snow sold south sport stay
sure tell thank things tile trip trust truth unity vict vous wake want wild winter 211123 camera drug spread 211132
compar design generated generation generator internet magic marker metal north overall tables texture 211133 adjust baby
battle brown bundle capture catalog centre civil conversion culture daily drawing during easy europe excel execution
finding fraction gallery getting govern happy holy hotel hung income indeed instant inventory invest lady latin league
living mapping motion moving packet pixel prior procedure quantity receive regression republic research resolution
reviews revision ruby saved sensor silver sorry sounds sources sports students study summer sweet taken taking tensor
therefore ticket travel trigger unable united univers unlike wolf women 211134 dictionary dimension formula young 211143
collections composite keyboard purchase statistics 211144 additionally browser candidate constructor difference employ
evaluation exercise experience experiment federal graphics instruction integration migration movement originally
pipeline promise received reports schedule syntax systems together translation treatment universal university updates
utilities welcome 211145 classification enterprise 211155 challenge development experimental organization preferences
publisher transactions 211177 unfortunately 211222 adapter exam inject memo notify outlet outline pref preview stamp
tick wow 211223 soup 211232 compat overview signed sprite started 211233 bounds bucket buttons closing compiler
conclusion cube deleted digits discount equals exceptions filters fuel listener mutable mutation notifications pairs
pane prompt providers receiver released resolver salary serialize timeout tube 211234 enabled 211243 characters
completion constraint endpoint interaction requests 211244 annotations contracts converter delegate executor literal
211245 classifier 211254 constraints 211255 transformer 212111 dj 212121 pac pil sar sco soc 212122 aber addition adds
adult advent aer alarm alto anyone arist army auch aunt aure backup bark barn bass bast bath batt baz beach bear bears
beer beginning bh bios bir blind bod bog bom booth bou bran brick brig brow bru buck bun bush buzz cable came canal cann
canon cant capt carn cass catal cav cave chance chang chase chess chop clar clay coach coast cob comic comics commission
como contest cort county cour cra cran crew cri cron cru crus cry cub cult cyber dance dans dart dav defence defense
dell desert diary dies diet dil dip dock dod doing dol dop dou dow dream drum dry dub duck dun dust eco edition eine
election elite epic esta estate euro eve evil exact eyes faith fam fame farm fate fault fear feature feel fellow few
fight finance finish flask fle forces forget fri fro furn fut gall gam gard gay gaz gear giant gib gift gir glad glory
gly goes gol gone grab grace guild gul gust hack happ hass hav haz hear hence hier hits hop hull hunt hur hut impact
implement impro jag jew junction jur kay kern kick kids kings kiss kle kont kos kun labs lac lamp laure laws laz lent
lever liver lives lub luck lum lun mach macro mais maj mam mang mast maxim meat meet mell mig might mim mint mob mold
mong mum myst myth nach nag naval nep network neu nob notre nou nur oak oil okay olive opera pag pall pand pap parad
parish parl partition peace perl pero phot pier pig pink pir plans polar police polit pom poor prec prem pret prevent
pride probe pros pul pump quart quint quite rare rav rear reform rein revel rever rout rush rut ruth sac sad saf sag
sage sang sans sav saw sax sche sci seal sect secure semi sens separ sept setup sever sew shar sho shock ske sob solo
sor sou soul soy spar spect spl spo spy squ stark stern stim strange strat strateg straw stress sud sue suff sug sul swe
sword synd tac tak tales tall tam tang tank tart theory thor thr till tob tong tort tou tow toy tran trib tun tut twin
vacc vad vice vill viv voy vul warm wars wash wet whe wine wings wins wis wish wit workers wrest xen zoo zur 212123 chef
chest elder ethics extract gross knight labor labour merc mesa queen scient seeing sister songs sons spark stir summary
swift trying tyr ultra wool 212131 methods purpose 212132 apost autom award bald barr basil basin basis calling classic
classical cliff commun comple comput corner coron corp corps curve decision divine dogs finals generic greater infer
interview limited mari marsh marvel matter medal medic medical metro modify monkey mono monster novel objective opening
paso patent patri patrol radar reality realm recall recent rights schn scout sense serie serum shows snap soci solar
spell terror tower trail trial whereas 212133 according across adapt advance adventure agency airport album alleg
alliance allied analog ancient annual anything anyway applications applied applying approach archae archives arrange
artists assume audit auss avenue aviation avoid bacon banks bapt baseball basket behind belt benef bills birds blade
blood blues bolt bomb bones bott bowl brief broad budget bureau burns butter campus cancer candy canvas capital carbon
career castle census centers certain changing charter checks cherry chicken christ cinema cities climate clinic clinical
collector college colonial colour combine concrete consult consumer convention cooper countries country creates creative
creek cricket crime crown crypt cuando damage dawn demon density depression desktop despite detect devices devil diese
digest dinner directive director directors disorder django draft dragon drama drew duty eastern econom eigen elementary
empire enemy enjoy equation estado evalu evening evidence evolution expert features feder feedback ferry fiction fifth
fifty films finally financial firm fleet flood flying foreign forty foster foundation fourth fragment frost funk gamb
garden gates genome girls globe gods golden golf gradient grande guard guide guns guy gym hands hardware heaven heights
heroes higher hills holdings hollow honey honor hunter hyper identification imagine imaging immun imperial increase
instit island islands jazz judge justice killer kingdom lakes lamb landing languages laser launch leaders libert lions
looking looks lucky magnet makes masters maximum maybe mayor mechan median meeting miles milk million mills ministers
mixed monthly morning morph motors mountain murder museum musical muss nations navy nearly needs neither networks neural
neuro nobody noise ocean oracle palace palm papers parks partial particip particle partners penn perfect permission
personal pharmac pitch pizza planet planning plants playing poetry pointer political politics powers pract precision
premium prepare pretty prevention priest primer prince printing prison prize problems productions programme proposition
protect protection protocol provide publication quantum rabbit racing rally ranch rapid rational reaction rebel
reduction regional regulation renew reporter reporting reserve resistance revenue rising rivers rocket rocky royal runs
rural salv samples sanct sandy scanner scheme schw science secretary sections sessions seventh several shel shoot silk
simply singer singles sites sixth smoke snake someone soph spider squad steam steel stores straight strategy streaming
strike sugar summit sunset superior suppose takes tamb teams temple theatre thinking thirty thunder tiger todd toll
tracking trading tradition transit treat trees tribe triple trump turkey universe valley various veget veter videos
village waiting waters weapon weekly wells western wheat whites wife wizard wonder woods workshop yeah youth 212134
against angels attention calendar claims crypto extended extreme grammar heavy knowing legisl letters merchant ministry
rectangle safety structure typical ultimate 212142 checking 212143 authority authorization awards calcul casino clearly
commander commercial community companies compared constitution continue corpor corpus delivery discussion documentation
documents generally greatest heritage highway initialize inspector insurance interactive interior marketing monitor
patients plains popular population pressure purple recording sciences signals signature silicon similar simulation
socialist solutions speaker speech spirit statistical supply traffic variables whenever 212144 accuracy actually
advanced alcohol alternative animals apparently appendix architect assessment assignment assistance assistant associ
attempt attorney authentication bachelor battery besides beyond biological bootstrap broken brother brothers campaign
cardinal century champion circuit cognitive combined comedy committee conference conflict copyright crystal cultural
depending detection detective determine develop developer district dollar dynam earlier eclipse effective effects
electrical electron emperor episode equipment everyone exploration explorer exposure fabric facility faculty fantasy
favorite festival following football fortune freedom further galaxy gateway genesis government graves harvest historic
historical hockey horizon however hybrid hydro increased industry institute institution integral journey judicial junior
kitchen legacy literary literature logistic magazine magnetic managing marriage materials meanwhile military mirror
moreover mountains normally northern nuclear observ operating outstanding parents parliament pictures potential practice
prediction president privacy probably producer professional professor programming progressive province publications
recognition regardless regulations relief revolution salmon satellite schools senators senior shipping shopping
singleton spectrum standards strength studies studios subscription successful survey teachers temporary tennis thought
thousand tomorrow tournament traditional trophy tunnel tutorial twelve twenty twitter unexpected virgin wireless youtube
212145 knowledge scientific typically 212153 basically 212154 automatic calculator comparison continental eventually
industrial initially international manufact monitoring restaurant similarly 212155 administration afterwards aircraft
algorithm ambassador analytics certificate champions chemistry contemporary discovery distribution dynamics electronic
employment environmental especially everybody everything guidelines headquarters healthcare immigration independent
indigenous instructions intelligence libraries lieutenant molecular observation obviously organisation presidential
previously reconstruction significant throughout transformation transportation understanding 212156 nonetheless 212165
continuous metropolitan 212166 alternatively biography democracy democratic employees geographic nevertheless
specifically 212211 gc gw vb 212212 bw lob pw wk 212221 aes aids roi rpm sip voc 212222 abort abst abund accent accord
accum accur accus acid acids acqu acted actu adip adm admit adul aest aft agree agreg ahead aide aims algo alive alles
allo alors altar amend amid ampl andere anime anos anx anywhere aos appar appet appl applic apro arbit arcs argc armor
arom artic artwork ascend ascent aspect atm atop atroc attain attrib aument avant avec awe backed backing bail bait bake
barg bases bead beard bees beet beh beim beings bem bend bent bey bez bias bids bien bif bike bile biod bip bite bites
biz blink blob bloc blot blow blunt blur boil boom bore bother bout brass bree bride brings brom brush brut brute bump
bure bust cac cada cade caf cage cake campo cand cans capable capac cara caract carb cardi cared caric caring carp casa
casc cascade cater caus caut caution cease cement cents cere cet cham charm chick chill chim chol chord chore cif cig
clamp clan clas clash cler clim clo clue coat coated coc coded coer coff cog coil colle coment comet comma comme compl
conce conclude conclus condu conform conj conna conoc conqu conse conson consum conta contain contra conven conver cope
cops cores counted counting coup cous crack crash crater creature cref crest cris crop crush crust cual cues cuid cure
cush cust cute cyan cycl cyl cyn cyst cyt damp dang dare dass deaf dealt debe debit debt decade dece decre deed deer
defe defect defend defer defin deform deix delet delic deline dend dense dent depart deport depos deque dere descent
dese desk desp deter deut deux deve dever dial dias dice died dif dign dijo dile dirt dise dish disp diss dive diver diz
dois doit dome dont dorm dors dose doses doub dove drank dread dress dri drink drives drone dtype dual duas dug dull duo
dut dys earn eas ease eat eben ecc econ editable editing editors edits efect efter egal eig eject elic elim emot endings
enf engage enh enorm enroll entend envi epid epit erase erect erf erre erro erst escap escol esper estar estas estim
esto estud exclude exclus exert exh exile exited exiting exits exon exper expose extr fade faint fais fait fans fasc
faster faut fav faz fears feas feat fees feet fell fem fence fert fet feud fever fid fier fif filed fim fined finer
fines fing fins fir fired fires fist fits fj flank flap fled flick flo flock fluid flux foc fog foi fool foram forc forg
forma formal fos foss fost fou foul fps frag fram fres fright fron fue fug fus fuse gad gag gast gave gears gef geht
gems gig gives gj glac glance gland gli glo glor glow glu glue glut goat gover gras grat grate gri grids grin grind grit
grow grup gum gut hac hace hade harm hast hatch hate hated headache headline heal heard hears heated hect heir hers hij
hired hoc hog horm hrs hue hug hust hyp idle idol ihr imag impart imped imper incon incre increment indef indiv indu
inert inev inex infl infra inj inlet inning inoc inp inserted inserting insertion inset instr intact intend intens
intest intim intr intra intro invent irre isn isot isso issu jars jaw jed jest jog jou jwt keen keine kept kits klass
kne knew knot lack lact laid lame larg latch lava lbl lbs leap lend lens lest leuk lhs liable lied lien lif lift lign
lime limp linea lineage lineup lips liqu lith llam loads loans locale locate located locom locus logical lone lore lors
lose loses loud lover lug lui lump lur macros maint males mater mature maze meant meas mehr meine memb memor meu mice
mild miners mines minha minim mining minute modem modes modest modo moi moist mole mood moth mou mound mour moy muc mud
muff mug mush mute nada nail narc neat neigh nem neon neue neur neut newcom newer newest newly newsp nib nip noch nod
nog nood noon nose nota notable notch noted notices noting notion noun nour nous nud nude nue nullable numb numer numero
nun oath obed obsc obst obt odds offence offense offers offic ohne olig omn onion opener opin opts orbit ordering ostr
otra otro outra outro outros outset oven overt pact padd pads pai pale pans pant parach paras parce parity pars parte
parti partic parties partly pays peas peek peel peers pem pens pequ peque perce percept perf perfor peri peril perme
permit pest peu peut pian pict pile pill pint pist pits pity piv pix pla plac plag plum poc pode poem poet pois poles
polic polite pops pore portable poses postal posted poster posting pou pound prag pray prefix prend prep prepar prest
prey prices pris probl proble proced prog progn prol prone proper propose prose prosec prost prote proton proud prove
proven prow prox puff puis punt pup puzz pytest quand quar qued quem raids rall ramp raster ratt reach readable readers
reads recept recess reco recon recre redu refere refers refine reflex refund refuse regard regul rehe reign reject relay
reli rely remot repe repl repos repro rept reput resc resid reside resign resin resist resize reson resort rests retard
retro reun reuse reve reven rhet rhs rien rings riot ripe robe rode roof rope roses sack sail sais sake samp sank sap
scal scand scary sce scen scent scre seab seam seas seated secre seem sees sehr seine seiz seize selecting selective
selects sell sera sess seu seul seule seus sevent shade shall sham shame shark shed shoe shout shower shut shy sick sigh
sight simpl sind sine sings sink sist sits sj skies skull sla slab slack slag slap slate sle sled slic slick slid slight
slim slip slit slog slut smo sne soap sock sod sog soil soir soit sont sop sore sour sous sow spac spam spans spare spat
spend spent sph spine spit spite spont spor spray spre spun spur sque stages stain stal stale stall stap starch stare
stated stating stew sting stip stor strand stray stret stride strive stro stub stunt sua suas subs suc succ suck sued
suf suis suit suits suma summ sums supp sust sway swell swim swing swo sx syll synt syst tableau tabs tack tact tad tale
tamp tant tard tbl teach tear tears teas teens teeth templ tend tens tense tent tents tert teste tested tester testify
theft them theor thick thigh thin tho thou thro throm tide tie tied tier tight timed timely tin tipo tips tire tired
toast toc tod toe toen toes told tone took tooth tops tore toss tous tout tox toys tract trap trash trat tray tread trem
tres trick trig trips trop trunc tub tug tum twe uncon unf unic unite unle unlock unos unve unw upd urge urine usar utan
vag vai vain valve vamp vap vara varies vary vast vault vect veil vein vend viable vib viel visa voices vom voor vot vou
voz vra vz wage wages waits warn wary wax wears weed weigh weil weit whip whom wifi wines wink winning wipe wir wired
wives wont wore worked workload workout worm wound writ wur xmlns yell zap zum zwe 212223 achie acres antib antique
argue arrest asked asking attend attent avail axial badge badly biom biting bitmap bitter blend bless bugs cafe cela
cheap cheek cheer choir chose clause claw cogn combo denial denies denn denote deny deriv derives dirty ellos entered
entering enters ethn extend extent extinct extrem finale formul gaze gluc groom grows heav ignor ikke indent indication
indices indign indul ingest jail knives landed lanes lasted lasting lasts layers lays leak least legs lesion lexical
locker locking locks mega mention merch merger merit merits naive namely nano narr nerv niet nons numa offline onset
pela piles poco pores pork qualification qualify queer quil rape rays readings reef regime regist reload requested
requesting rises rods rolls romance ropes roster rotor rude scans scrap sector seeks seems sexy tener tension tomb tones
torch torn torque tying uncle unders undert undis vener verbs verge verification versa vida worden yield 212232 absol
absor accuse apples autoc autre autres basal basics bets bigger calf caller calls calm casi casing caso casos casual
chips clients clips coloring commence commits commod compan complement compos compte conten contend contre contro coral
corro curb curs curse datas datos decent decid decide decir decis decor delight delim deliver della descend desde desper
discard distinct divers divert divid divide diving divis divor donate donc donde donn donner donor donors emission
endure escal escort espec eventual fatal finds firstly freeze functioning gaps genera greed greet grep grew grouped
grouping herb herbs herd herein holes incarn incent incub incur indexed indexes indexing infant infect inser insight
insign insist insol interact intercept interf interim interpol interpre joined joining joins limitation limiting limits
linen linha listings locality locals loser lowest mainly malign mane manip marble marked markers marking markings markup
marrow mating medial medication metab meters metre metres midd modeled modelo modification monarch monde monk monks
mucho muy neck novo numbered numbering objectives opened openings openly outputs overhead overl overlay overload overly
overse pacing panc pants passes patents patio petite petrol pets petty pilot pins polys popul preset profiles projected
projecting publicity publicly purch purity purs purse radial radical realize recip recorder regret remind restart reste
rested resting resume retour returned rider rightly scept scores servi servo signs sigu simult snack solic soll solve
solver soma speak spear specs spices spike spill spir sprint starts startup statue stdin strang subgroup subst substr
substring subt subtype superb systemic tabel tablet textual thats tours traff trait trav tried tries trio unions vocab
vocal warp wasn whereby wherein wherever yours 212233 abnormal aboard abortion abras abroad absent abusive accessing
accession accessory accident accidents accountable accounted accurate acquire acquired addict addiction additions
additive addresses addressing adhere adjective adjud administer admission adopt adoption advers adverse advert advice
advis advise advoc aerial affair affect affine afford afirm aggreg agrees aided ainsi airline albeit albums alerts
aliens aligned alike aliqu allele allem alley allies allocated allocation allowance allowing allows alloy aloud alright
altered altitude amateur ambient amended amigos amino ammon amusement analy anatom angry annex anomal anybody apartment
aplic apolog appear appended applicable applicant applies appropri approval approve approx aqui argues arise arising
armies armour aroma arose arrive arrog arrows artery artillery ascending asleep aspir assay assays assess assigned assim
assist assists assure atoms attained attract attraction attribution augment aura autumn avait averages avoir awake awful
backbone backdrop backpack backward backyard bacter bacterial bags baked baking ballot balls banana banking banned
banner barred baseline batches bats batter beams bearing beast beaten beating beats beds beef began behave belie belle
bells belly belong belts bending bene benign benz beside biased biases bibli bicy bikes billing billion binds bins biome
blacks bladder blah blame blocked blocking blond blonde bloss blown boats bodies boiled boiler bonds bonne bonus booked
boots borders bored boring borrow bounce boundary bounded bounding bowel boxes boxing bracket brains brake branding
brands brave breach breast breat breath breed bricks brighter brill bringing broke bronze broth brows browse bubble buds
buffers builders buildings bulk bullet bunch bunk buoy burden burial buried burned burner burning burnt buses busy butt
buyer buyers buying bzw cabe cabin cables cached caching camel camping camps candid candle cannon canopy capacity capped
caption captive caracter careg cares caret cargo carried carrier carries carry carved casting casts catches catching
cattle caught causal caused causes ceased ceiling celle centered centres cerv cette chains chalk chances channels chaos
chapel chapters chaque chasing choke chorus chunk citation cited cites citing ciudad clarity claro classe clever clicked
clicking clocks cloned clones cloning closer closes closest closet closure cloth clothing clubs clues clutch clutter
coaching coarse coats coerc coils coinc coined coins collar collision colony colored colspan combat combin commentary
commented commenting commissions commitment compiled complet comply compound compress conception concern concert
concluded conclusions concurrent conductor confer confession confined confuse congen congest conjug connecting
connections connector connectors connects conquer consent consist consists consume contacted contacting contained
containing contempl contextual contour contraction contractor contrast contrib conventions converts convex convey convin
cooked cookies cooking cooler coordin copied copies coping copper copying cords cosa cosas cosine cosm cosmic costly
costs couch cough couldn counts couple coupon courses coverage covering covers covert cows cracks crashing crawl credits
creep cried criter critic crops crosses crude crushing crying cubes cubic culp cups cured customary customers cutoff
cycles cyclic cycling dado dados dagger damages damit damn dams dances dangers dann daring darker dashed databases
datasets daylight deadline deadly dealer dealing deals debate debris debut decay deception declar declare decline
decoded dedic deeds deeper defendant defended defenders defending defenses deferred deficit defines defining definite
deformation delayed delays deleg deletion delicate demand demise demol denied dental depend deposit deposition depot
dereg descending descriptions descriptor designed desire desired desires desta deste destin detailed determin devast
deviation devote diagn diagon diagram diarr dich dictate dictated didn difer differ differs diffuse dilation dimin
dining directed directing directives directly disabled disaster disclose discord discre discs discuss dishes disks
dispar displayed displaying displays dispon dispos dispose disput disse distant distort ditch doesn doesnt doll domains
dominant dominated domination dough downloading downloads downs downstream downward dozen drain drawer drawings drawn
draws dreams dried drift drill driven drivers driving drones drops drove drunk drying dumb dummy dumped durable
durations durch dwell dye dying dyn dyst eager eaten eating editions editorial effic eighth eighty einen einer eines
einf elbow elections electr eleg elemental elemento elementos elev eleven emails embod emerge emotion empir emulate
enact encore endless engaged engagement engines enrolled entire entitled entrance entropy environ envision envy epile
equality equip equity equiv escaped estava estimation evangel evapor evenings evenly exactly exagger examine exams excav
exceed excell excess excluded excludes exclusion exclusive execut exempl exerc exhaust exhib existe existed existence
exotic expans expectation expecting expects exped expend expense experi expire expired expires expiry explan explic
explo explos exponent exported exporting exposed exposing expres extraction extras eyel faced facet facial facile facing
facto factories factors facts facult faded fading failing fails faire falling fals falta famil famine fancy fantas
farmer farms fashion fastest fatty favor favour feared feast feather feeding feeds feeling feels femin ferm fetal fetus
fiber fich fights figured figures figuring filing fille filler filling fills filt filtered filtering filtr financ
financed finances findings finely finest finger finished finishes finishing firing fiscal fishing fixes fixing flame
flare flashing flats flatten flav flaw flee flexible flights floral flour flowing flown flows flushed focal folders
folding folds fond fonts foods forcing foreach forever formats forums founded founders founding fountain fract franch
fraud freed freel fren freq frequ fridge frog fronts fuck fuels fuer funcion funded funding funds fung funny fused
gained gaining gains gaming ganz garage garant garner gases gastro gather gauge gegen genres gente gently genus gesture
ghosts gibt gifts gilt ginger giving glanced glasses gloss glove gluten goals gonna gorge gotta grabs graded gradu
gradual graft grain granite granted granting grants grape graphs grav grave gravel grief grill grim grip growing grown
guar guess guidance guided guides guilt guys habe haben habit hacer hadn halls halo handed handic handing handled
handles handy hanging hangs harder harness harsh hasn hasta hatred hats hatte haunted hazard headaches headed healed
healing hearts hedge heels helps hereby heroic heroin heter hides hiding hiking hints hipp hiring histor hobby hoje
holders homes homme honest honors honour hooked hoped hopes hoping hora horas horns hosted hostile hosting hosts hourly
huge huh humans humble humid humor hurry hurt hyster iconic identical identify ihn illeg imagen immense impacts impair
impending implemented implements implic imply importance imported importing imports impose impression improve impulse
inaug inception inches included inclusion inclusive incoming incred indicate indict indie indirect indoor induce
induction infection infinite infinity influ influx informations informing informs ingress inhab inher inhib inicio
injected inland innings innoc innov inscription insect insecure insists inspect instanceof instinct instruct insult
intake integr intended intends intensity intention intervention intimate introdu intuit invade invention inventions
inverse inversion invert invisible invite invol inward ironic irony isinstance isolated isolation issuing itself jacket
jeans jelly jerk joints joke jokes juice jumped jumping jumps junk jury justification justify juven kann karma keras
kicked kicking kicks killed killing kills kinase kinda kinds knee knock komm kommer labeling labelled lacked lacks
ladder lado lament lamin lamps laps laptop larger largest lately latent lateral latex latter lattice laugh lawn lazy
leads leaks leaned leaning learned lecture legit lemon lenses lesser lesson levels liber lieu lifting lighter lighting
lightly lightning ligne liked likes liking limb limbs lingu linkage linker linking liquid litter lived lleg lobby
locales locally locating longer longest looked lookup looping loops loose losing losses loved lovers loves loving
lowered lowering luego lugar lumber lumin lunch lungs machen madre magical magn mailing mainstream makeup mamm manga
manner mapped mappings marry martial mascul masked masking masks massage masses matching maximal maximize meals meaning
meanings meets melan melody melt memoir memorable memories menor menos menus mercy meses mesmo messy metast midpoint
midst mieux milit minds miniature minimal minimize minutos misery misma mismo misses mitigate mixer mixes mixing mobil
mocked modeling moins moll months moral morale mortal mostly motif motiv motivate motive motto mounted mounting mounts
moved moves multic multid multif multip mundo murm mutant mutate mutated muted mutual myriad nails naked naming narrow
navig nearby nearer nearest needed needing needle needles neste nested networking niche nicht nickel nickname nights
ninth noche noises noisy nomin normalize norms nosso notably notebook noticeable noticed noticing notified notions
novels novice nucle numpy nurse nurt nuts obey objet obstruct obtain occas occult occur offender offenders offered
offering offerings offsets oils oldest onboard onions opacity operand operate operated opted optic optical optics organs
origins orphan otras outcome outdated outdoors outgoing outlook outward packages packed packing packs padded paddle
pagan pains painted painting pairing palms pancre pandas parade parcel pardon parental parked parole parsed parsing
particles partie partir partitions passages passer passing passive pasta pastor patches pathways paused paved paying
peaks pelo penal pendant penis penny peoples peptide perception perceptions performer performing performs perimeter
perman permits perpet persist persists persona personas personne persons persu peso phantom phases photon piano picked
picking pickle picks pickup pieces pigs pills pinch pinned pione pipes piston pivot placebo plague plais planned
plantation planting plasma plastic plateau plates playback playground plea pledge plural pocket poder pods poems poetic
poets pointed pointing poison poker policies polished polling polls pollution polym pond ponto pooled pooling pools
poorer popped popping porch porn porque portions positional positioned positioning possess possession potent pots pounds
poured powder preced precip precis prefer prefers prefixes prejud preparation prepared preparing prescription presses
pressing presume prima princ printer privat probable probes probing proceed proclaim procur produce profession profits
progen programa programmer programs prohib projet promin promot promote proofs propag proportion proposal proposed
propri prostate proved proves provided provides proving provision prudent pseud pulling pulls pulp puls pulse pumped
pumps punch punct punto purely pushed pushes pushing putting puzzle quadr quando quasi queries queues quicker quickly
quota quoted quotes quoting raced races rails rains raises raison ranged ranges ranging ranked rankings ranks ratings
rats reached reaches reaching reacted reactive reactor reactors readily readiness readonly reass reboot rebut reception
receptor recession recomm reconc recover recreate recurrent reduced reducer referral referred referring refined reflect
reflection reforms refuge refusal refused refuses refusing regain regarded regarding regards regions regulate regulator
rejected relat relate relax releases releg relent relies relig reluct remain remains remake remarked remarks reminded
reminder reminds removal renal renders renov rental rented repair repay repet replay replic replication replies reported
reprodu reputation rescue resent reserv residence resident residents resides residing residual resigned resistant
restore restrict resultant resulted resulting resumed retail retain retention retina retire retired retiring retreat
returning reusable reused revers reviewed reviewer reviewers reviewing revive reward rhyth ribs riders riding rigor
ripped risen rival rivals robust rocks rooted rotated rounding rounds routine routing ruin ruler ruling runners runway
rushed rushing sabe saber saddle safer sala salad saline salts sampled sane sanity saturation saves saving saying says
scaff scalar scaled scales scaling scandal scanned scanning scare scared scatter scenes schon scored scoring scream
screening screens screw scrolling scrub sealed sealing seals searching seats secretion secrets sectors secured seeded
seeds seeking segments seized selbst selections selling sells semantic seminal sending sends sensation senses sensing
sensors sentence sentir sequel serait severe severity sexual shades shaft shaken shakes shaking shallow shaped shapes
shaping shares sharing shear sheep sheer shelf shifted shifting shifts shiny ships shirt shirts shook shops shortage
shorten shortest shortly shorts showed showing shred shrink shutdown shutter sich sides sido siege sieve sights signing
silent silly sinc singing sinking sinks sino sins sinus situ sized sizeof sizes sketch skills skins skirt sklearn skulle
slave slices slider slides sliding slope slots slowed slower slowly smaller smell smile smiled smiles smiling smooth
sniff soaked sober sobre sockets socks soda softly soils sooner sorrow sorte sorting sorts sounding spaced spacer spaces
spacing spanning sparse specification specify spending sperm sphere spinal spinning spins splash splice spoke spons
spoon spots spouse squir stabil stacked stacking stacks staged stagger staging stagn stair stake stakes stalk stamps
standings stands stared starred starter stationary stations stays stdout steal steep steer stems sticking sticks sticky
stiff stigma stitch stocks stool stops stored storing storms storyline stove strain strands stranger streak streams
stresses stretch strides stringent stripe stronger struck stuck stunning styl submission subnet subsid substance
successor successors suffix suicide suitable suited suites suiv sulf summar summed summon sung sunk sunny supers
supplement supporting supra suprem surf surg surge surname surv suscept susp sustain swallow swapped swear swords sworn
swung symbols sympt synerg synth tactic tagged taille tails talent talks taller tally tanks tanto tape taper tapes
tapped taps tarde targeted targeting targets taste tasted taught taxa taxes taxi teaches teaching telling tells temper
tempo tempor tended tender tends tenth tenure termed terminate terminated termination terrain terrible testified
textbook texte texto texts textures theirs themes theorem thereby therein thereof therm thesis thief thinkers thinks
thinner thirst threading threads threat threw thrive throne throwing thrown throws thrust thumbs ticks tidal tiene
tighter tiles tilt timber timeline timing tinha tires titled titles toda todos toilet tokens toler tomar topics topped
torso totals tough toute toutes towel towers towns toxic toxin traced tracer traces tracing tracked tracker tracks
traded trader trades trails trains traits transc transf transl trapped traps treated tren trend trials tricks trivial
trois trou trout truck truly trunk trusted tubes tudo tune tuned tuning tuples turb turbo turf turned turning turns
tutor tweet twice twins twist typed typename typing ugly ulcer unaware unclear uncommon uncover unfair unfold unified
uniqu unittest unjust unlaw unlocked unnamed unpack unrest unseen unser unstable unters unused unusual upcoming upstream
upward utilize vague validated validity valued valves vamos vanish vapor variance variation varied veces vectors veins
verses versus veto vibr viele viewed viewer viewers viewing violate violated violation violin viral virus visits vital
vivid vivo voiced voted voter votes voting vrai wagon waited waking walks wallet wander wanted wants warmer warnings
washed waste wasted wasting watched watches watching waved waves webpage wedge weekday weekend weeks weighted weighting
weird weiter wenn weren whale whales whilst whisk whistle whoever wholes wholly wicked wider widths wieder willing
winding winds winners wiped wird wires wiring wished wishes wishing woke wooden workflow workforce workplace workspace
worn worry worse worst wounded wounds woven wrapped wrapping wreck wrist writes wrote yearly yeast zinc zones zwei
212234 acknow antiqu arrival athletes attached attacked attacker attacking attacks attendant attended attending attitude
blending bouncing careful certification cheaper cheating cheeks cheese chosen classify clauses clusters cognition
conviction denotes derived detailing diameter dotted education ellipse elucid emblem embrace enables encaps encontr
enemies enforce ensured ensures ensuring ethnic exceptional executes extending extensions extensive extinction extracted
extracting famous fetching forensic formally formations formerly formidable formulas formulated formulation gerade
helmet helped helping hotels humour ignored ignoring illusion inactive indicated induced jointly knife knows labeled
layered leaked leaves leaving lengths lengthy letting licensed lymph lyric melting merely namespace offshore ordinal
ordinary orientation peaked portrait portraits qualifications qualified qualifying qualities qualquer questionable
questioned questioning registering registers registro rendered rendering retaining rewrite romantic scrape seemed sought
spreading tomato torrent unsafe untreated verbal warehouse wouldn 212242 checker checkout specialist specialists
specialty 212243 absorb accepts authored authorize authorized automat balanced balances balloon barrel barrier biggest
broader canceled charitable checkpoint classroom cleaned cleaner cleaning cleanup clearance cleared clearer clearing
cliffs collected collecting collective collectors collects colorful commanded commanding commonly comparable comparator
compares comparing compartment compass compatible compensation compete competing completely complexes complexity compose
composer compression comprise comprises computation computed confused constrain contention continents continu continual
continues contracted contracting contractors contractual controlling corners correcting correction correctly correl
cortex cosmos countless curious curved curves datetime debugging decided decides deciding decoder decoding decoration
delivered delivering delivers descendant descended designer despair divided divider divides dividing divisions
documentary documented documenting donations dwarf expectations factorial fairly fatigue freezing functionality funnel
generates generating generations generators greatly halves hardly highways incidence incident incidents incorrect
infants infected inference inferred informative infusion insane inserts insights insisted inspection interacting
interacts interchange interfer intermedi interpreter interrog intersect intersection intervals invoke limitations
listened listeners listening localization localized lowercase marketplace matrices matriz matters maturity medals
metallic metals metaph modelling modifications modifier modifiers modifies modifying modular modulation modulo modulus
monitors monkeys muscle musician nowhere overcome overlap overweight palette panels passed passport patience patron
patterns personnel picnic populate populated powered primes primitive processes processo processors radiation radicals
realise realistic realities realization realized realizes realizing recalled recalls reproduction requirement respected
respective restoration restored restoring resultado sampler sampling satisf saturated sensed serious served servers
serves serving signaling simulate simulated simulator sleeping snacks solved solves solving spawn speakers speaking
speaks speeds spelled spelling spells spikes starring statements statewide statistic strangers subjected subjective
subsection subsets substant substit substrate subtitle suburb subway suspect systematic tablets trailer trailing trained
transpose traveled traverse trillion unanim vibration viewpoint volatile voltage volumes withstand yourself 212244
absence accessed accessible accessories accidental acclaimed acquisition actively adaptive addressed adherence adjusted
admissions admitted advances advised advisor advocate affected affili affinity affirm afternoon afterward aggregate
aggregation aggression aggressive airflow algebra alguns alongside alphabet alternate alternating alternatives ambitions
amounted amounts analogue analogy analyses anarch announce announced announcing annually anonym anterior appointment
approached approaches approaching approved argparse arranging arrived arriving artificial artistic assass assemble
asserts assessed assisted assisting assumed assumes assurance assured attorneys audience augmentation backwards
bandwidth beasts behalf belief believe belongs besoin bilateral billions biopsy birthday births blades blamed blockade
blockchain bonuses bought boundaries breaking breaks brightness broker brought buddy builds capability captured
cardboard carefully carriage carriers carrying catalogue celestial cellular centroid centuries certified chairs chassis
chocolate churches cipher citations clipboard clipped clockwise clouds clustering coherence coherent collapse collateral
collisions coloured colours combination combines combining commitments committed committing compelled compelling
compilation compiling complications compounds conceived concepts concluding concurrently confidence confident
configurations configured confusing confusion connectivity consensus consequence conserve considers consisted consistent
consisting constructed constructing constructive constructs contempor contempt contexts contours contribute contributes
contribution conventional conversions converted converting convince convolution cooperation coordinate coordination
counterpart counters coupled coupling credential crimes crossed crossing customize customs cutting dabei damaged dancer
dancing daughter declaration declared declares declaring declined declines decrypt deemed defensive definitions degrees
delicious demands depended depends depleted depletion deploy deprecated describe destined detached detected detector
detectors detention determination determined devised devoted diabetes diagonal dialogue diesel diesen difficult
diffusion digestion digging dimensions directions directories disasters discharge disclosed disconnect discounted
discover discrete discretion discussions disorders disposal disposed disposition distances distinction distingu
distorted distortion distraction distrib disturb domestic doorway downloaded dragged dragging drained drastic drilling
dropdown dropout duplicate earnings efficient einmal einzel elapsed electoral elephant emissions emitted empirical
enabling enclosed enclosure encounter encourage encrypt endangered endpoints enforced enlisted enough enrich enumerate
envelope equally equations essence evaluate everywhere examination exceptionally excerpt exchanged exchanges excited
exciting executable executed executions exemplo exempt exercises exhibition expanded expanding expands expansion
expectancy expenses expensive explain explicit explore exploring exponential expresses expressing expressions expressly
exterior extracts facade facets failures fairness fallen families fidelity filmed financing firearms firewall fitness
fitted fitting fixture flames focused followed follower followers follows footprint footsteps forbidden foreground
formatted formatting forwarded forwarding forwards fought foundations fourteen fractions freely frente frontier frozen
funeral fuzzy garbage garlic generous genetic genius genocide geological goodbye goodness gotten grabbing grains
grandmother graphic graphical greenhouse grounded grounds guarded guards guests guideline halfway handful handlers
handling hardest headlines healthy heartbeat heavier heightened highest highlight highly histogram histories hitting
hombre homepage honored horror household humanity humidity identifiable identifiers identifies identifying identities
illegal imagination immediate immortal immune immunity immutable impaired implications implicit importante imposed
impossible impressed incompet incomplete increasing independ inducing influence informed inherent injection inquiry
inspected installation installed installer installing instances instructor instrumental instrumentation insulation
integrate integrated intellig intensive interested interesting interests interrupt invariant invasion invasive inverted
invitation invited invoked invoking irregular iterations iterative jetzt journalist journalists judged judges judgment
justified kindly kommen kwargs landmark lassen latency latitude laughter launched lawyer leagues legally legends
liability lifetime lightweight lively logically longitud longitude madness managers manages massive measures melhor
messaging methyl microbial microphone microwave midnight millions mirrors missed mixture molecule momento morality
morally motifs motions motivation movements multiples multiply multitude musicians mutants mutations nationality
navigate navigation negatives neglect neighbor newsletter nightmare nominal nomination nominee nonlinear normalization
normalized notorious nowadays objection observe obvious occasion occupy occurs offensive offspring omitted onwards
operates operational operators oppression optimal optimize optimum optionally organiz organize originate originated
originating outbreak outcomes outlined outlines oxygen packaged packaging packets paperwork partially particular
passwords pathological pathology payments pencil peptides perceived performed permissions permitted persisted
persistence persistent personality personally perspective phosph pitched pixels planets playlist playoffs plenty plotted
plotting plugins pointless polygon porous possessed possesses possessions posterior potato practical praise predators
predicate predictable predicted predicting predictions predictor predictors predicts preference preferred presence
presentation presented presently presents preserve presidents pressed pressures presumed produced produces producing
programmed programmers programmes progression prohibition projection prominent promises promoted promoter promotes
promoting promotion propagation protected prototype provisions pseudo publish quantify quantities quarterback rainbow
rainfall reactions reasonable reasoning reasons rebounds receipt receiving recipient recommend reconstruct redirected
referenced referendum reflected reflections regularly regulates regulating regulators regulatory rejection relates
relating relativ relatives relevant relieve religion remained remembers remnants removed removes removing renamed
renowned repaired repairs replaced replaces replacing replicate reporters requiring reservation reserved reserves
residential resolved responder responses restricted restriction restrictions resultados retained retirement revenues
reversed revised revisions rewards rhythm richer riches robotic robots rotating rotational rotations ruined ruins
salvation sanctions scattered scattering schemes secretly segmentation segundo selectively selenium sensitive sentenced
sentences sentiments serializer shadows sheets shells shields shipped shortcut shortened shoulder shouldn shuffle
shuttle sibling sicher sickness sidebar signifies silence silently singular sitting sixteen skeletal skeleton slaves
smallest smoked smoking snakes snapped snippet sodium somebody somehow soundtrack specifications specifics specified
specifies specifying speculate speculation spheres spokes sponsored spotlight spotted squared squares stability
standalone stealing steering stepped stepping stimulation stolen stopping stressed stretched stripes structural stuffed
stumbled stunned subclass submissions subsystem sufficient suggest sunshine supermarket supervised supervisor supplied
supplier supplies supporter supportive supports supposed suppress suppression surgery surplus surround suspend swallowed
swimming switched switches switching symbolic symmetry synonym tailored talked talking tedious telephone templates
temporal tenants textbooks theological theology thereafter thickness threaded tickets tissue tissues toolbar topology
totally touchdown touched transcript transcription transfers transient transitional transitions translated translator
transmission transmit traumatic treasure trench triangular troops tropical turmoil turtle tweets twisted twisting
unavailable unchanged uncovered underlying underneath understand underwater underway underwent unfinished uniforms
unilateral unlimited unpredict unrelated updating upgrade upwards utilization utilized utilizes utilizing validating
variants variations variety versatile vessel viability visiting visitor visitors vortex walked walking waveform
wavelength weaker weapons weekends whichever widgets withdraw worksheet workshops worlds worldwide yesterday yields zijn
212245 antioxid attitudes chemicals classifiers daughters dimensional enforcement enterprises formulations inability
ingredient multiplic predictive productivity qualitative rectangles rectangular structures successive tomatoes 212253
checklist requirements specialized 212254 anniversary authorities balancing calculated calculation calibration
characterize communities composed compositions compressed comprising constantly contamination continued continuing
correctness correlated correlation corrupt corruption currents designated designation fixtures generalized
initialization initialized interactions interconnected interfaces interference intermediate intersections keyboards
magnitude malicious manually methodology middleware monitored passenger populations possibly powerful radically
radioactive realised recursive seriously servants signalling signatures simulations solidarity somewhat somewhere
specially subdivision submarine submitted submitting subordinate subscriber subscriptions substances substitute
substitution suburban suppliers triangles vocabulary volatility whatsoever 212255 accessibility advancing affiliation
airplane airports algorithms analytic analyzed arithmetic assumption bedrooms believes benchmark biochemical boyfriend
businesses candidates capabilities childhood circular coefficient collapsed collectively conferences confidential
confirmation confirmed confirming contributed contributions contributor contributors cooperative counterparts crossover
crystals customized definitely deployment depressed descriptive destinations destroyed destroying developed developers
diagnostic disability disabling disclosure discomfort disconnected discourse discovered discovers displaced disrupt
disruption distribute districts disturbed electrons elephants embedding employed employer encrypted encryption episodes
equivalent excellent explained explaining explains explanation expressed facilities familiar fantastic flexibility
fortunate fundamental fundraising geometric grandfather healthier highlights households immediately importantly
infinitely insensitive instability installations intelligent itertools jealous journalism judgement landmarks literacy
literally maintenance membership messenger microscope migrations mindfulness misleading multimedia multiplication
mutually neglected nonprofit noteworthy objections observed observes observing organism organisms organized organizers
organizing parentheses peripheral potatoes potentials precursor predefined preprocessing preservation preserved
preserves preserving probability projections promised promotional promotions quantidade quantitative randomly reasonably
recommended reconsider religious replacement representation represents responsive richness righteous scenario scheduled
scheduler scheduling sensitivity sexually shareholders shoulders sideways slaughter snapshot spacecraft specificity
speculative standpoint statistically successfully supporters suppressed surfaces surprise surprises surprising surrogate
surrounded symmetric synthesis synthetic thorough thousands throughput transferred transforming transforms transgender
translates translations transparent transplant transported transports twentieth understood unhealthy uniformly unlikely
unusually upgrades uploaded uploading variability vertically visually wilderness 212256 chemotherapy classifications
inappropriate questionnaire randomized 212265 absolutely authoritative characteristic characteristics characterization
characterized compatibility contiguous continually correlations correspond corrupted currencies curriculum matplotlib
motorcycle primarily systematically unacceptable 212266 ambiguous asymmetric businessman centralized certificates
demographic dependencies developmental disabilities displacement disrupted distinguished distributed effectively
effectiveness efficiency equilibrium geographical geography grandchildren grandparents historically homogeneous
milliseconds negatively organisations organised organizations pediatric potassium potentially probabilities
progressively relatively surprisingly transcripts transformations transformed transmitted transparency 212267
undoubtedly 212276 manufacturer 212277 discontinued humanitarian synchronous 212288 asynchronous 212322 errone intense
212333 charset chunks excuse idiot implants implied implies inflation perfection positives quotation 212334 attendance
lyrics 212344 adjacent arranged attributed criteria criterion described examines exemple glucose introduce measuring
prevailing producers profitable progresses refinement replicated screenshot successes trimmed vehicles 212345 derivative
212354 recursion unauthorized 212355 duplicates introduced possibility progressed suggestion suspended taxonomy
thresholds 212366 possibilities 213132 springs 213133 appeal clerk coalition coffee cotton crisis engineer engineers
harmon hundred ideally noble physical physics rifle settlement spatial 213143 communication communist competition
medicine 213144 accordingly agreement behavior citizens embassy engineering likewise measurement railroad railway
recovery retrieve rugby sequential technical therapy 213145 educational 213154 initiative 213155 associate association
chairman considering infrastructure optimization principal psychological psychology technology 213156 technologies
213166 representative representatives 213222 crews espa foam foil ideas otros suffer waist 213223 abuse ankle blew igual
laying nerve oppose owns stere 213232 asserted assertion nasal purge purification socio warns 213233 abused accounting
activist activists afraid aimed aiming aktiv alarms alteration altering alumni amongst apopt apparent appears arises
aussi babies beads became become beginnings begins begun betray blanket bonded bosses braces breadth bulb bundles carcin
celui charged charging citiz climb cohort contrary cooled creators crowd crowds debts decrease defaults deficient depths
dinero drinking drinks echoed echoes effet effort eggs einem elders eligible elsewhere embark embry eminent energ erased
erfol essay estimator eyeb fibers fibre firms flashed flashes flesh flew floating fluids fluor folks follic forged
forgive forgot friction fringe gentle gifted glyc glyph grupo habits happen hearing hemat hepat horses housed hunting
ideals imagin innate irrit keeps kidn lacking ladies learner leverage licence lifts lipid lovely loyal lunar maintain
maior mandate mandated mantle mediated mighty minority mosque myself nanop nasty necess neuron oblig obsession oceans
onclick opinion oppos owning parece peanut performers pesso physic pillar plaque pleas polarity pregn pretend psycho
pulled punish racial racist razor rebuild recreation remarkable revert rifles rigid risks ritual rookie rumor rumors
scarce scratch searches securely sedan separated separation separator settle sewing shorter skew stole strongest strugg
therap tumor unequal uneven unsure urged urging vacant vacation vigil vigor vitro voters votre welche werden widow
213234 achieve antenna attackers bleeding choosing claimed claiming denying essays indicator licenses mentions nerves
opposed oriented rubber sparked ventilation verdict virtue 213243 assertions automation commenced complain initiate
initiated initiation inspir inspired mettre moderate purified recorded recordings spiral subjects subtract 213244
acceleration acceptable acceptance accepted accepting acoustic activates activating activism adaptation adapted
advantage advantages agencies aggrav alterations amazed amazing amplitude analyse analyze appealing appeared appearing
appliance assigning assigns authentic avoiding becomes becoming beforehand benefit bicycle blankets branches branching
breakdown bridges bursts chromium circles circuits circum clergy compliance conditioned conditioning conducted
conducting conscience conscious coordinator crafted decreasing deepest deeply dependence dioxide dropped dropping
efforts eliminate elimination embargo emotional engineered estimates extraordin featured flavor flowering friendly
gleich globally glorious graduated graduation gravity harmonic helpful himself holiday ideological impressions indicates
indicators infamous inherit injury innovation jungle kidney legendary licensing lingering lonely luxury maintained
maintaining majority mandatory milestone minorities mistake mistaken mistakes momentum mortality motivated nationally
nationwide neighbors nicely ninety nutrition obsessed occupation occurred ontology opposition painful percentages
percentile percussion performances periodic periods permanent phenomen phenotype planetary platforms pleasant pleasing
pleasure pointers presenting princip privately protective psychic punished punishment racism raised ratios rebels
rebuilt recipients recovered remarkably remembered remembering responded responds risky routines rubbed segmented
sequences skipped skipping steady stopped strictly strongly studied studying talented talents technique terminals
terminating urgency vacancy vicinity vinyl violating violations violent visualize websites welcoming widely witness
213245 achieved illustration orientations roughly structured 213254 concentration constrained continuation continuity
continuum controvers incorpor initiating insomnia internally interpretation manifestation socially substantial 213255
accountability altogether analyzer arthritis assignments authenticate authenticated auxiliary backgrounds behaviour
bourgeois breakfast chromosome circulation clinically clinicians conductivity considerable consideration considered
critically criticism cumulative dangerous decomposition deficiency electricity embodied established festivals frameworks
gradually individuals inheritance inherited landscape measurements observable observers occupancy occupants occupational
occupations occupies occupying optimistic optimized optimizer partnership physically physician physicians physiology
presentations represented representing respondent responding rigorous technically technicians techniques technological
terminology unpleasant violence virtually visualization welcomed worthwhile 213256 ownership standardized 213265
girlfriend manifestations 213266 considerably considerations essentially friendship hospitality hydrogen kilometers
likelihood observations occasionally occurrence periodically psychologist psychologists relationships representations
unpublished wheelchair 213276 continuously 213277 breakthrough 213321 varchar 213322 anytime rgba upset 213323 imitation
mentor 213333 aconte adequ aisle anchors annotated annoy argued arrives avoids barely blowing blows bypass capsule cigar
clicks cloak containers containment creatures cuisine cytok damping debated dedication defeat dentro dosage earned
enamel etwas fertil flaws folded hovering ihre isolate javax learns learnt lethal maiden movable obese opaque oscill
outfit peeled prompts pygame quotient rationale receives rejects reliable relocated relying rendre reveal ruled rulers
scorer searched settled settling solely spends strips stupid tearing todas upside urgent useless uterus valeur valuable
varying vendors vezes vowel weighed worms 213334 deduction educate educated ethanol fetched indications inequality
mentally mentioned merging oversight yielding 213343 compassion competed competence competent deserve desirable
duplication markedly meditation pockets respectable respects 213344 abrupt accompany accumulate accumulator aggregated
allerdings ambitious ancestor anchored apenas appearance appointments assembled astonishing asylum averaging avoided
awaiting awareness awkward borrowing breeds chloride cocktail comfortable comforting condensed creativity credited
cylinder dedicated degrade densities destruction disciples discipline dismiss duplicated dwelling earliest educators
emitting emphas enhanced enzyme epochs estimating explode exploded explored explosion favorable favourite featuring
fertility filtration flipped forthcoming fulfil fulfill gradients guessed guessing hesitate heuristic husbands ihren
inclination indicating indicative infections integers intestinal journals likely measured pertaining pertinent poverty
quietly receivers recognize reflective reproductive resemble resembles rugged simplicity stemming tiempo typedef uptake
weakness wealthy worries 213345 attachments ingredients 213354 accredited competitions competitive competitor
competitors decentral deserved deserves intercourse interpreted membrane 213355 affiliated combinations comfortably
credibility deployed difficulty eligibility emphasis encounters environments experienced exploitation externally
favorites fulfilled insufficient irrelevant molecules occurring ourselves paragraphs phosphate positively preferably
problematic pronounced quadratic recognise recognized recognizes recognizing redemption repositories respectively
respondents sequencing steadily thumbnail transmitter unspecified zwischen 213365 disciplinary interpretations 213366
coefficients comprehensive inflammatory recognised 213434 utterly 214244 rebuilding 214245 unofficial 214254 inspiration
214333 ignores 214334 ongoing oxidation 214344 adequate necessary opposite 214345 oxidative 214365 necessarily 214444
imbalance uppercase 214454 passengers 214455 interrupted 221122 alex alice apr bah bern brad carl dave david dick eric
feb fran greg hong hz iran jay jess jim joe jul kent leo leon mah marc mary mex mike mrs neil paris paul peter tai thu
221123 ryan tony 221132 charles maria sarah simon 221133 albert andrew billy boston brian china chinese france friday
german harry jackson james jane jason jean jeff john jones josh july june kelly michael russ scott sunday tuesday york
221134 thomas 221144 french london microsoft taylor thursday 221222 getter urls 221233 formatter shader 221243
interceptor 222121 raf sas spr unix 222122 abd abu alb alger allan apache arab armen aub aust aval baba bac balt bam
basel beth bever bible blu boh bri bros brun bry buk cain carlo carm carol carr carson cath cay cec chad chand chile
chow civ clark coch coke colin congo cork cox craw crom cros dak dame dana daw dean dee dew dion dix doe dor dud duke
dul eden edwin emma eug eva evan evans fay fern ferr finn flor fors frage fry fuk gand gil gill glas gore goth guill gur
hale hank hans haw heath hend hep hern herr hess hew hick hob hod hort hoy insp irish isle ivy jab jill joh jong jr kab
kam kamp kang kap kas kash kate kath kaz keith kemp kend kerr khal kob koch koh kong kop kore kot kra kre kris kro kub
kul kum kur laf lah lak lal lanc lau leh levi lew lil lind lisa liu liz logan lok loy ltd lud luft luis luke lund maced
mack mae maine maple maur maver maz meer mein miche mick mik misc mitar mitch miy moh moor moses moss mull muse myers
nak nash naz neal nero nev newark nex noah nord nug ohio orion oslo pak pav paw peng pep peru phill pike pok poland
polish pope portug preis putin rams reds reed regel reid roh roth rud sach sah sak sant sask sau saul scot sean seth
shack shah shan shen shim shin shir sof sox spart sri sund suz swiss taj tay thai tib trad trit tul tus uhr vera viet
vij wade wales walt walter webb wein weiss wes whit wik wol wong xu yale yam yin yuk zach zion 222123 adri alec anglo
annie berk caleb celt clare denis denver derby easter ellis erik gaza hiro jake jama joan joel jose kaw kyle lynn lyon
oliver oscar owen porter queens roger roland romans sony spain thom torres tyler utah venice venus weber zeus 222132
atlas balk barack barb barber baron barth betty brent calif carter casey charl curt daten delhi geoff initi iraq lowe
mara marco marie mario marion marx mason maya mayo monday monte natal nora pete peters prix sara satan saturn serge
spiel starr trent vlad volk 222133 aaron abbas adams adolf adrian ahmed alban alfred allah anderson andrea andreas april
archer arctic armstrong arthur asian august austin bailey baker barry barton bates bauer beau beaver belg benny besch
biden blair blake bobby boris boyle brady brah bren brett brighton brock bronx brook bruce burke burton butler caesar
cairo canada carey carlos castro chandler chili chris chuck cisco clara claude cohen colomb conrad conway costa crist
cuba cubs czech daddy danish danny darwin davis december denmark derek devon diane diego dillon dixon dodge doyle drake
duncan dunk dunn dutch dylan eagle earl eaton edgar edmund edward elias elvis emily emmy england euler ezek felix
finland fisher fitz forbes forrest freder freud fuller georg george ghana giants glen gordon gott graf greek greene
greens griff grove guang gulf hamas hann hardy harold harper hawks hayes helen henri henry hindi hitler hogan holl holly
holt homer hond hoover howard howe howell hugh hyde iceland india indian indiana informationen intel irene islam italy
jamie jedi jenn jensen jerome jerry jesse jesus johan jordan juan jude judy jung justin kane kansas karen karl katz kauf
keller kenn kenny kerry kevin khan kiev kinder kirk klein korea korean kosten krist kumar kurt laden larry lauren leeds
legion lenin levine linda lodge lomb lords loren louis luna luther martin mayer meyer miami michel milan miller milton
mongo moore musik nancy nathan nazi negro newman newton nicol niger nina nixon nobel nokia norman obama pablo palmer
panama parker pavel payne pearl pedro perry perth peterson piper potter powell prague providence puerto qatar quinn
rachel ralph ramsey ranger reagan rhode rhodes rican rico riley rita robert robin romania rosen salem sally salon santa
saudi schl schul scripture senate seoul shane sharon siber sierra silva singh spanish stalin steve steven strait stuart
sultan susan sutton syrian tamil tanz tenn terry texas tigers titan titans tommy travis trek troy truman turner unicode
valent vander vaugh vienna villa vince violet wagner warner watson watts wayne weaver welsh wiley willis willow wilson
witt xbox yemen yosh zhang zhu 222134 abbey afghan angela berlin claire dennis humph joyce kaiser oxford romney yahoo
zealand 222143 calvin commons donald herbert herman manuel marcel marian marina marshal monica monroe norris norway
october patrick serbia serbian tucker warren 222144 abbott amazon america american amsterdam anthony barrett batman
bedford belarus billboard brooks bulletin campbell canadian cartesian chancellor chiefs churchill connecticut daniel
detroit deutsch disney durham edwards eisen felipe fletcher floyd gaussian geneva goodman hannah harvard harvey holmes
ireland italian jahren january jeremy jersey katherine kelley latino latvia madame madrid malays missouri montreal
morgan morris mueller mumbai murphy murray muslim newcastle nintendo parkinson persian philipp randolph richard romanian
ronald samuel schiff schwar solomon stephen sussex teddy thailand thames timothy vincent walker washington westminster
wilhelm william willie winchester xavier 222145 berkeley elizabeth illinois 222154 manchester 222155 benjamin greenwich
interestingly jerusalem lawrence minneapolis montgomery netherlands richards schmidt shakespeare stockholm sullivan
telegraph wednesday wikipedia zimbabwe 222165 california commonwealth 222166 birmingham cincinnati fortunately
massachusetts milwaukee peninsula switzerland thanksgiving 222211 adc bbc bmi cg cnn crc dna dns eof gf gmt hc hf hg
isbn jp mri mw nv pci pcr pv rna tcp tg usb usd utc 222212 bsd bv csi dg eee eek gbt gv hb jb mf mh nz onse sdl stm vf
wf 222221 acl afl ascii atp bbb bce bmp cbc cbd cbs cdc ceo cgi cms covid csp cw dll dvd eeg epa fbi fcc fda fifa gcc
gdp gfp gnu gps gpu hiv hms hq ibm icu imf jpeg lcd ldl llc mlb mls mma mpi mtv mvp nasa nato nba nbc nfl nhl nhs npc
nsa nsw nw nyc pbs pca pwm rfc rms rpg rsa rss sdk sds sms snp spi ssd sse suv tls ucla udp ufc vii viii vpn wwe xp xv
xvi 222222 aaaa aarch abap abide abis acab accents acces acme acpi actime acton addend addinfo addon addstr adler aead
aenter akid algs alist alnum amet aname anders anext arange arith arpa asap asin asmo atim atime attest backlog backoff
backport backref baud bcmp bcont bda bdb bdd bdf bdist beginner bfa bfb bfc bff bfi bfree bfs bgra blit bloat bnf boop
brsp bsize bss bstr btime byref byval caddr capath capget capset caron cased cbegin cbp ccache ccad ccm ccs cdata cdef
cdll cdot cdrom cend cfile cfloat cfn cgroup chdir chdr chname chown churn cjk cjs clang clength clib clist clnt clts
cmac cmake cmap cmath cmsg cname cnet cnf codec codeview coef coid colno constr countdown cpid cpio crbegin crbug creat
creds crend crng csize csrf cstr cstring csum ctim ctime ctors cuda cvar cwd cwe cword dataoff dbff dbgs dbname dbus
dcache dcont defers deja descr descs devel dfff dfn dgram dhe diag dists dmethod dname dnd doall dpn dport dsa dsize dso
dss dtime dtl dtor dword ecert ecma econt edns edom eerr elide elision elot elts emits endloc engin eoc eol eom eor eos
eot erange errorcode erroring estale etarget etree etype euid exarg exch exif fadd fcmp fcount fdim fdiv feff feof
ferror fffff fffffff ffree ffunc fget filemap filepath finfo finit fips flist fmax fmin fmod fmode fmul fname fpos fpp
fread fromfd fromfile fromstring fset fsid fsize fstat fstring fsub ftype fwd gated gcm gdb gequal getall getch getchar
getcode getcpu getfd getfile getfl getinfo getint getitem getline getname getpath getres getstat getuid geturl getval
getwd gfx gids gist gmac gname goff gost gpl grunt gsh gss gst gtype guire gvn hdc hdr hfn hkey hmac hoist htab iadd
iand iarg icache icase icmp icont idct idna idref idtype ierr iface ifdef ifmt ifreg ifunc igor ilist imap imho imod
imode impure imul indata indir infile inits inorder inout inputline inreg instring intmax intoto inval ioerr ipadd ipany
ipasc ipsec iread isabs isdir isfile isreg isset istream isub isuid itag itname itype iwr ixor jis jit jmp jti jws kcmp
kde kdf kmac krb lance lchar lcid lcm leay lequal lerr lfloat lfs llong lname locator loff logid logon loong loos lpar
lpid lru lsb lstat luint lvalue lvl lwp macinfo macos maxage maxcount maxerror maxint maxmem maxmsg maxnum maxsec mbind
mbps mbstring mcount mday mdc mdebug mech memset mfc mfp mgf mgmt micros minint minmax minors mips miter mjs mlock mman
mmap mpeg msan msec msgs mstr mstring msys mtim mtime mtype myfile nbar nbio nbits ncpu ndata ndim netdb netloc netname
netrc netrom newfd newline newpath newval nfat nfc nfd nfs nids nist nlink nlist nmax noack noent noerror noext noop
nope nopt notary notequal notif notime notimp notin notype npn npos nread nsec nseq nsig ntop nulls nval obase oem oeq
oerr offload omax omits onend oneof onread onstat oob ooo opcode orderby orderings osname ossl otime outdir outname
parms pathname pbe pbes pbm pbmp pbuf pcall pcert pchar pcid pcy pdata pdate pday pder pdig peps perms pfname phdr phnum
pinfo pkey pkg pki pkt plist pmac pmask pmd pmod pname pnb pnm pnum poid porting portnum posix postcss postorder
posttest ppc ppid preds preid preload preorder prinfo prng probs procs progs prolog prto psalt psct psec pselect pset
psig pstr pstring ptag ptree ptype putback putchar putrequest putype pval pvalue pwd pydebug pyver qname qnum qop qsl
rbegin rbio rcount rcv rdiv readfile readline readme readv reap rebase redir redraw refill regen regents reify reinsert
reis reks reloc remap remat reorder resname retry rfind rfor rinfo rld rle rlim rmod rmul rnd rng roff rpar rpath rpc
rpo rpt rseq rsub rtime rtype runpath runpy rva rvalue rws sass sbatch sbin schar scsi sdist sdiv selectable selectors
semget semid semop semun semver setall setfd setfl setitem setname setns setter setuid shdr shlex shnum shoff sinfo skid
slant slated slist slong smac smax smin smul sname snext snmp spdx sqlite sram srange srem sret srgb srpg ssid ssize ssn
ssub ssv stash stime stname strace strerror strstr stype suid svid swab swig tbar tbs tchar tcount tdebug terse testfn
tgt tgz thisp tiff timeval timex tinfo tlc tlog tname tnb tsan tty ttype typeid typeinfo uac uadd uapi ufd ufe uffff
uids ukm ulong umask uname undef unices unification unify univ unload unmap unread unref unroll urem usages useable
userbase userdata userid userinfo utime utmp utype uui uword valign vararg varint vbase vcall vchar vcpu vcs vdata vfp
vfree vfs vfy vga vinfo vlan vmin vname vnd vpm vset vstart vstring vtable vtype wbits wce wchar wday werror wfd wget
whence winapi winch winerror winnt winreg wnd wno woff workable workings wstring xaa xab xac xad xae xaf xba xbb xbc xbd
xbe xbf xca xcb xcc xcd xce xcf xcode xdb xdc xde xdf xdr xea xfa xfb xfc xfd xfe xfff xffff xffffff xhtml xlate xlib
xmd xmlsec xmm xnew xpath xpg xpk xserver xxxxx yaml yarn yday yml ymm zeta zext zint zsh 222223 abnf arcname argcount
asdf bitcode bitname bitnum bitstr bitstring cheat dddd denom denorm denormal dirfd dirpath egid ellint emacs emfile
encap endcode enfile extant extents extms extname fffe ifdir indents indice inode iptr isprint itav itemseq iters ivars
izip izone jkl knuth lasti lastly lastpos lements lexed lexer lexers lexing lexists lockf lockfile lorem nghi nuke
oldval oops opnd quads qualcomm qualname quals rects reenable refcount requester requestor rxor scrl scsv sourcefile
sourceware stty udiv undent undone unset untag ushort velit verdef wording zuint 222224 othername rework rollback rollup
222231 matlab 222232 accel actionable andres appname astring basename bigint callable callbr callers calloc charp cinf
classics classname cmov codebase colorize commas commute compr comps configs constify consts ctypes curdir debuglog
debugreg decnet decpt delitem docstring dscr estatus eventdata eventfd falsey firstname freef freeing generics gobject
groupby groupings groupname httpd iname indexable indexer infers infix infos ingroup insns interning interns interop
interp joinable joiner joinpath keycode keydata keydown keyed keyfile keyid keying keyval lhash limiter linter linus
listdir listens localize localname localns markdown markus mcast memfd methodname modeline modid modif modname modpath
modtime monad msie mustn natives nbaz octal octave octet omission onlyca onlyuser openid openlog openmp overline pango
pclass pctx perror pindex popcount popen popitem popup prefs projectile projective projector publickey radix rctx realms
realpath reals recur redact regset rescan restype retcode retval rjust serif servent setiv setpos setval sigill sigint
sigio signame signo sigset sigval slen startend startline startloc statfs statics statusinfo statx stdarg stderr stdint
stdio subdir subitem subkey subpath triage unary unixes vlist vvv warray zipfile zipinfo 222233 aborted aborting aborts
abusing accesses accessor accessors accmode aclass acorn adapters addison addons addressable addrs admins adobe adorno
aexit afalg affix agenda agitation aiter aleph algor algos allfiles allocs allowable altera alters altsep amiga andrey
anyconnect anyways aobj appdata appending appends aqua aranges arches archiver archs arflags argtype armored artima
asdict asinh aslist assoc asym asyn atmel attlist authinfo azimuth babel backedge backends backlight backported
backslash backspace backtrace backtrack backups bailing basedir batched batching bcons bcopy beacon bearer bevel binder
binders bindings bindir binop bioerr bionic bitcast bitfield bitflags bitmask bitness bitrate bitstream bitwidth bitwise
blanks blaze blinked blobs blocker blockinfo blurb bookings bools booted booting bordered borderline boxed brandl breve
brightest brightly brightred bsearch bslash bswap buffered buffering buildid buildinfo bumped bumps busted buster bwrite
byteorder bzero bzip cacheable caches cades canary canned casefold caseless cassert casted cblock cbreak cbuild cctype
cdecl certdata certfile certid certrequest certs cflag cflags changeable changer chartype chflags chmod chroma chroot
ciph clamped clashes clazz cleans clears clickable clocal clockid cloner codecov codecs codegen codename codeset codings
coeff coerce coexist collate collation collide collin colons colorama columnist comdat commentator compiles concession
configdata configur confine conforming conforms confstr contemplate converse coords copier copyable copyfile copyreg
courier coverity cplus creations crock crossword crunch csect curly cutime cython daddr daemon darken darts dashes
deactivate deadlock dealloc debian debugger debuglevel decls decltype declval decodes decomp decrement defgroup defpath
defrag defunct deinit delaying deletes delimit delims delphi demote deopt dequeue descends destfile dests detach devabc
devirt devnull dfactor diags dicts diffie diffing diffs digis directs dirent dirname disables distinfo distro distros
dither dlen doctype domainname domino dotall downcast downloadable downloader downright dquote drawable dtrace dumping
dumps duplex dustin eabi eaccess eacute eagain echild edel editables edquot eexist egress ehdr eheader einval ejected
elems elided eloop elsize emarks emerg emplace emulated emulation emulator encdata enclose encodes endfor endheaders
endian endorse endpos endptr endregion endurance enqueue entires entonces entrant enums eperm epipe epoll erases errored
esbuild escription estination eventsource evict eviction exclusions exctype exdev execfile execle execv execve execvp
exename exflag existent exitcode expat expint exportable exporter exposition extglob extlist extractor failinfo faked
fallback fanout fclose feeder fences fgets fieldname filecmp filelist fileno fileobj fileobject fileprivate fileset
filesize filesz filetime filetype filetypes finalize findall finders firestore fixer fixme fixup fkeys flagged flake
floatn floatv flowinfo flushing fneg fnumber fopen forbid formatdate formatv formdata fortify fortran foundstr fptr
fputs frees fromkeys fromtimestamp frontend fscale fseek fstack fstream fsync fudge fullname fullpath funcarg funcname
funcs functionally fuzz fwrite geared gecko geninfo getaddr getattr getbuffer getcolor getdoc getenv getframe getheader
getheaders getlk getlogin getmode getopt getoutput getparam getpass getpid getstate getters gettext getvalue gitlab
glitch globs gmail gnome gregs groff gthread guido gutter gzip hacked hacker hacks hashable hashed hasher hashes hashing
hashmap headername headings headphone headset heaps heatmap heller hexchar hexstr hinstance hoisted hoisting horiz
hostent hostname howto hparams hresult htons huang hunk iarna iconv idlen ifaddr ifchr ifindex ifld ifndef ifstream
immature immed impacting importable importer imposition imprint imulation inblock inbound inbox inbuf inclusions indep
inflight informat inited initval inlen inodes inplace inquire inrange insertions instal instream insts insure intdiv
intendent intending interception internalerror internalize intptr intval invalidate invalidated invalidator invis invmod
iological iostream iota ipaddr ipaddress irix irshift isclass isdst isfinite isinf islice islink islower isnan isnormal
isodd ispeed issock isspace issuer istrip iszero iterable iterated iwrite jitter jquery jsonparse junit kappa kexec
keypad keypress kitty knob knobs kqueue ktri kusage labore laddr landlock langinfo langle largs latched laurent lbrace
lbyte lcov leafs leftarrow lenient lenum leopard levelname levelno lfoo lgamma libcall libdir libdl libera libfile
libname libpath libre libssl libuv libxml lifo lighten linearly linebuffer linewidth linkable linkages linkat linkers
linkname linkpath ljust loadable loaders localtime locates logfile loggers longname longs looku looser lowers lowlevel
lparam lround lseek lshift lshort luigi lzone macho macron magma magna mailer mailto mangle mangled mangles mapfiles
mastering matcher matchers maxdepth maxdouble maxfloat maxhost maxima maxlen maxlength maxlong maxseg maxsize maymove
mbcs mbstate mcontext mdouble memberof memchr memcmp memcpy memlevel memlock memoryview memtag meson messes mflags
millis minded minfloat minlen minlong missionary misuse mitigation mixin mocking monthname mouseup mqueue mrelease
msbuild msync mtrace munge mutator mutex myorg nagle namer namesize nanos nargs nbsp nbyte nchars nconf ncopy ndelay
ndirect needn negate negated negation nelem netconfig netdevice netfilter netinet netlink netmask newlen newmod newobj
newpass newself newsize newvalue newversion nicer nident niels nightly ninja nitems nkeys nlines noalias noargs noattr
nodb nodejs nodev noecho noexcept nomask nomatch nonce nonces nonnull nonstring nonull noqa normcase nospace notail
notfound notifier notifies notifying notional novell nowrap nullptr numterms nvidia nwrite oasis obstack oddly offending
offloading oflag ofstream oiw oldfd oldsize olocation ominus onchange oneline onentry onmessage onopen onstack onward
onwrite openat openmode oplus optarg optind optname optval optype oranges osabi oslash outbound outbuf outfile outlen
outlive outsize overrun packard packer packument paddr padlock paged pager pagesize paging paints panning paobj paolo
paramgen paren parisc parrot parseable parsers partials pascal passwd pasted pasting patchable patched patching pathconf
pathlen pathlib pathnames pathsep pauses pbags peeling peername permute pformat phased phishing phoff pickled picky
pinging pinning piped piping piter playable plength pluck pnpm poking polishing polled pollfd pollin pollout pollute
popcnt portably postargs postfix postgre postgres postlint postpack postrelease postscript postversion ppoll pprint pptr
pragma prctl prebuild precall precert precomp predef predication prefixed prefixing preflight preheader preloading
premaster preminor prepack preparse prepatch prepend preproc presets preverify preversion previews printable proactive
probed procession procfs profil profiled programma propq protector protesting protoc protos prstatus psel pserial pstate
pstatus pthread ptrace pubid pubkey pushd putheader pwait pwrite pyconfig pyversion qlen qnames qnx qsize qsort quanta
quantize quential queryable querying quirk quoter rabin ramifications randall randint rangle rarrow rawdata rawmake
rawport rbrace rdev reacting reactivate readbuffer readinto readlink readnone readwrite realloc realtime reaped reapply
rebind rebound receptions reclaim reconnect recreated recycle redential redhat redisplay refactor referer referrer
reformat regcomp regexec regexes regexp regexps regfree regmatch regress rehash reified reifying reinit relink relocate
relocation relocs relro remapped remapping remaps remotes remover remquo renames renou reopen reordered repression reqs
rescale resend resets resizable resized resizing respdata respid restores resumes resuming resync retrans retries
reunion reuses reusing revalidate revalidation revtime rewind rflag rflags rhel rindex rkeys rlayer rlimit roadmap
roaming rogue ronly rootdir roundup rpartition rptr rsassa rshift rstate rtti ruleset rusage rvalues saddr salsa
samefile sanin saver scanf scanline sched scissors scoped scopes scoping screenings scripting scrolled sctx searchable
secsig sectioned seeding selname semctl sendall sendmsg sendto sentry setattr setclock setdefault setenv setflags setlk
setlocale setlogin setmark setmask setmode setparam setsid setsig setsize setstate setters setups sfactor shaders
shading shareable sharma shims shlib shmall shmat shmid shove shrt shutil shuts signbit signer signers signify signum
simplement sindre singly sinon sizing skips sliders slowdown slowest slows smarts smarty smcap smime snprint soabi
softmax someother sortable sorter spawk spinlock spinner splat splus spthread srpid sstream stalled stalling stalls
stamping standout stanza stashed statuses stddef stdlib stdmethod storable storei strbuf strchr strdup streamer
streamoff stressing strftime stringification stringified stringify strlen strlength stubs stumble stunden styled subcmd
subentry subsample suiteb sunos sunpro superclass supper suppl swapon swapping swaps swrap symlink synced synch syncing
syscall sysfs sysid sysinfo syslog sysname tablegen tagging tailor tainted tango tanner tarfile tarinfo tclass telnet
tempdir tempfile tempname termcap termio termios testcase testcases testsuite texinfo tgamma thaw threadid thresh
throwable thru thunk tilde tiling timegm timers timezone timings tlen tokenize tokenstring tooling toolset topmost
tparam traceable trackers transp trapping treble triples triplet troff tsdown tstate turds turks tweak twine twister
typeset typings typos ubyte ucontext uinteger ulimit umount unauth unbind unblock unbound unclean uncomment uncond
unctrl unesc unhook unilen uninit unknow unlicense unlink unmark unmet unmount unordered unparse unpipe unquestion
unquote unregister unrolled unrolling unsat unsets unspec untrace untrack unusable unwind unwise unzip upcall updater
upto urandom urljoin urllib urlparse userconfig userland userlen userprofile userptr usersite userspace usleep utimes
vaddr varargs versioned versioning vfork vformat viewable viewpost visionary vista vlen vscale waiter waiters waitid
waitv watcher watchers watchos watcom wctype webpack werner wformat whats whoami widen windef windir windll windres
wordsize worklist workstation worldview wparam wpending writable writeable writev wyatt xargs xattr xclass xconst xfer
xflags xinclude xku xlocale xlsx xmlsoft xoffset xopen xoptions xproto xrange xrender xsave xscale xstate xterm xtrans
xutil yoffset yscale yuck zalloc zbuf zconf zeroed zeroes zeroing zfill zlib zlong zoffset zoneinfo zope zstd 222234
aliasing angstrom atomics attaches attaching badflags bitmaps bitvector blends bugfix buggy bugpoint bugreport certifi
certify chained chaining chooser codesign denials denoted denoting derivation deriving dotless ecparam extender
extractable formulate gerhard groove groundwork highbit homeowner hotness ifestyle ignorable ilshift immersion inaddr
indented itemsize layouts leaking leftmost lengthof lexington lockfiles mergeable meshing naissance namelen namlen
noname numlist oldmask oldmod oldpass ospeed pathspec productos promisc qualifier qualifiers qualifies questiondown
queued queueing queuing renderable renderer renumber rootless scrypt seealso soname sourceforge timerfd undici undoes
upfront vectorize verifier verifiers verifies verifying verneed viewvalues webidl weblogs wordchars zasso 222235
codeship otheritems othermal 222242 checkable checkers checkin specialize 222243 authlib authorizer buildroot calcsize
callables callbacks certstatus charcoal classattr classmethod classnames cleanly cleanse colorless colorspace commanders
commandline commonjs commutable compaction comparer compfunc complements complexion composing configures configuring
constantin constexpr constness contenders continua coroutine corrective corrects cstdio cstdlib datadir dataflow
datagram delattr directorystring discards distpoint divmod docbook docformat docstrings documentos emptying eventmask
finalise finalization finalized fixups freefunc functor generality generalize generalstring generosity hardcode
hereunder incurs initfunc initials insistence interceptions interlace interleave interstate keybag keychain keycodes
keyctl keyenc keyfunc keygen keyring keyusage linecache localhost mainloop manpage manuals maternity matmul memmove
metavar midyear modelled modifiable modula monarchy musttail muzzle nonzero normpath nowait objectsize octets onlyattr
openness outputted outputting overcoming overdue overhaul overkill overloading overlong overwrite patented patiently
powerpc processable radian radians radios rawaddress realmente recency regenerate regenerated remappings restarts
restful restorer rightmost sendfile setcontext sigaction sigalg sigbus sigcont sigcontext sigkill siglen signaled
signalled sigpipe sigpoll sigprof sigqueue sigquit sigreturn sigstack sigstop sigstore sigterm sigurg sigusr sigwait
sleepy solidity somevar specials speeding speedup speedy spilled spilling spills sprintf stateful stateless stddev
subarray subdomain subfield subfolder subheading subkeys submenu subminor submod submodule subnets subnormal subparts
subprogram subrange subregister subresource subscr subscript substream substrings subtarget subtests subtree subtypes
subversion superblock superset syncfs systemroot taglen textdomain textwrap tokdict trimming unowned zipped 222244
accustomed acimiento aliased aliases allergic allocations allowances allowlist alternates alternation animations
approvals approving approxim archived archiving arranges arraybuffer asprintf assigner assorted assures astounding
autoheader avocado backedges backports ballistic becker behaving bessel bezier binaries binomial birthtime bitbucket
bitfields blackburn blackjack blacklist blizzard blockaddress blocklist blockquote bodytype bookmark bookstore boolop
brainstorm breaker brightblack brightblue brightgreen buildout builtin bygroups bytearray bytecode campground cancelable
cancelation capitals carousel cartridge cbytes centric certbag certreq chainidx changeset classof classpath clipping
clockwait cloudy collating colliding commentaire commentators commonplace componente comspec conferred configurable
configurer confuses connectionless constructable constructible constructors contextlib contexto contribut convertible
copyfunc corebio corepack coursework coveralls cpython cropping crossings customisation dasync datepicker dcheck dcookie
deactivated deallocate debounce debugged declspec deepbind deepcopy degenerate demangle demangled denounced dependant
destruct detaches detaching devrelease dialogs dictates digested digests digraph directional dirnames disallow disclaim
disclaimer disconnection disjoint dispatcher displaytext disposing disrespect doorstep downcase downside downwards
doxygen dragons draining drains drawables drawback dropwhile ealready earthly editorconfig effected effecting embedder
embeds emerald endforeach endlessly enlarge enquiry entails enumerable equalizer erhalten exclaimed exclamation expander
expiration explicity exponents expressible expressive exquisite factored failfast fallocate fastcall fastopen fencing
fieldset filehandle filesystem fillvalue filterfalse finalizer finalizers finalizes finalizing finditer firefox
fireworks fixpoint flaky flashlight fledged florian flowlabel fmaximum fminimum fontsize forceinline formatters
fortified forwarder foundational foundland foundry fprintf freopen fromlist frontends fullmatch fullnames fullscreen
functionalities geneve genmask getattribute getgroups getmembers getrandom getresponse goaway grained granular graphql
graphviz greenland guarding haiku hamming harald hardening hardlink hasattr hashbang hashfunc hashlen haystack
headphones hellman hexagon hexagram hexnums hexversion homeowners hostflags hostility hostnames hotspot howmany hyphen
iconductor identally identchars importantes importers importlib indirection inlined inliner inlines inlining inprogress
insecurity installable installers installment installs instrumented instrumenter internalformat internalization
internalized internalizing intolerance invalidates invalidating inversed invflags invocation invoker invokes isalpha
isblank isdigit isgraph itanium iterables iterates iterating iterators iteritems iterkeys jansen jython largefile
launcher legality legalize legendre leicester libctx libfoo libnames libnode libnpm libpng libutil lightblue lightgreen
lightness linebreak linefeed linestyle linkonce liveness loadavg logistical logistics longdouble longlong longopt loosen
lossless lstrip macintosh mailbox makefile makefiles manageable managerial materialize maxsplit memcheck messagebox
messed microsecond microtask misnamed missionaries motherboard mouseover multiarch multiline multipart multiset mutates
mutating mutators myanmar nationalist natively nblocks nbytes needless negating nentries neumann newlines nextloc
nicknamed nicknames nightlife nighttime nodefer nodelete noitalic nonblock nonlocal normalise normalizer normalizes
normalizing notempty noticeably numhooks occured onboarding onehalf onequarter operands optionals optionflags optparse
originates originator outfiles outliner outlining outpatient overrides overthrow packager packagers packlist packrat
packuments paginate pagination pairwise paramount passlen patchlevel pathfinder pedantic perennial permutation
persisting picasso pickling placements plainly playwright plumbing plusminus plusplus policyid policyinfo pollrep
polluting polyfill portability positionals positivity postinstall postprocess postseason prebuilt precedes preclude
precompute precondition preconditions predates predicated prefetch preinstall preloaded premajor prepending preprocess
preschool presnap printables priori proclaimed proclamation professions profiler progressing propensity propiedad
proponents prostitution provoke provoked pubalg pubnames pubtypes purelib pushback pycompile pyproject pythonpath
pythonw pythonware qbytes quantifier quantifiers quartered quarterly quaternion quitting quotechar randrange rcompare
readability readbytes readlines reallocate reassign recheck reclaimed reconfigure redentials redirection referrals
reimplementation reinstall relational releaselevel relocations renaming rentries repeatable replaceable replayed
reschedule resetting resolves restricts revisit revocation revoke revoked rewriter rightshift risking rotates rsplit
rstrip salutation sampleprof sandbox sanitation scanners schemas screenplay scriptures secondly segundos sendmail
sentinel serializable serialization serialized serializers serializes serializing setgroups shadowed shadowing
shareholder shiftwidth shipments shortcomings showcases signcert signifying silenced simplejson snapping snprintf
softened soundcard specifier specifiers speculated spinners splitter splituser springfield spurious stacklevel stacksize
stacktrace standby starttag statically staticmethod steals stealth stencil stepwise storyboard strconv streamreader
stringstream stumbling subcategory subcontract subpackage subprocess subshell subwindow sunken superclasses symbolize
symbolnum syncok synergy synopsis sysconf sysconfig sysctl sysroot systemd tabstop tabular tabulate tarjan tempnam
testosterone textsize threadpool threadsafe timeframe timelines timeouts timespec timestamps tokenization tokenizer
tokenizing tokenlist toolbox toolchain toolkit tooltip topological totalmente touchable traceback tradeoff transcode
transitioned transitioning transitive treeverse triplets trough tsconfig twilight typecheck typeobj typescript ulittle
unbiased unblocks unclosed uncomfort unconnected underflow underling unencoded unescape uniformiv uninstall uniques
unlinked unlinks unloaded unmatched unnatural unpaired unregistered unshare unshift unsorted unverified uously uplicate
uploads upsilon urlopen usability utilise validates validations validators vanilla vanished variadic vectorization
vectorized vectorizer versations versionadded versym viewitems viewkeys visitation vprintf waitpid waitstatus walkers
wallclock watchdog watchpoint waterfall waterfront waterloo waterproof websocket weekdays whiteout windowed wordpress
workaround workflows workplaces workspaces worldly wrench writeback writebuf writeonly wrongful wrongly wstrict xmalloc
222245 biologist certifications classifies ellaneous enschaft ensitivity eoverflow foreclosure formulaire gboolean
groundwater illisecond lexically minecraft namespaces nonstandard odynamics qualidade randomize renderbuffer serverhello
singletons typesafe undocumented unshared vectorcall verificar viewpoints 222253 basicresp specialchars specialization
specializes specializing specialties 222254 balancer calculus callgraph casually classmates classrooms cleanliness
commonprefix complexities compounded contentious curiously decipher distclean documentaries docutils generalization
generically incidental initgroups initialisation initialise initialises initializer initializers initializes
initializing insertvalue interpersonal leaderboard magically malformed materialization materialized modificar mongoose
multiplayer mustprogress nonclear nonempty objectively overflows overloaded overwriting palindrome patibility petroleum
populates populating powerhouse primaries realizado serviced servicing sigpending sigrequired simulates simulating
socialism speedups statepoints subdirectory subexpression subgraph submerged submodules subobjects subpattern subprime
subsequence subwindows withholding 222255 alternately apologies archbishop atomically autocomplete backpressure
bangalore binaryformat binutils bookkeeping bookmarks brightyellow buildbot builtins byteslike byteswap cachecontrol
cellpadding childbirth circleci clienthello configparser conflicted connectionpool contextmanager crossorigin cumberland
customizable customization customizations customizing destroyable devtools directionality disallowed disbelief
disclaimed discontent discourage distancia distancing distutils downarrow downstairs drawbacks einprogress emmanuel
encipher expulsion fboolean feedparser filesystems fontconfig generously getencoding getpriority gitignore gitmodules
handbook handshake handwriting hardcoding heartfelt highlands histograms homebrew hostserv humanities humiliation
identically illiseconds inencoding insensitivity instancecheck instancia ironically ironpython isidentifier isomorphic
judiciary latencies lboolean leftshift legalization legalized liabilities libpython lifecycle literals longstanding
losslessly masterpiece materializes materializing materially methodologies microseconds millisecond misplaced morocco
motorola mountpoint mutability nationalism negativity newsletters nextafter nonatomic nonterminal normalised
normalizations ocurrency organising outencoding passphrase paycheck piecewise placeholders placeholding pointlessly
poolmanager postprocessing predetermined predictably preprocessed preprocessor presidente programmatic progressbar
propulsion randomness reconfiguration referencia referencing regularization reinitialize reinterpret relaciones
respbytes resumption revisited salesforce sclerosis sentencing setpriority setspecific shepherd shortcuts sideeffect
simplefilter smalltalk socketcall socketpair songwriter sourcecode splitdrive splitquery splitvalue sprevious streamline
streamwriter subclasses subcommand symbolically symbolizer synonymous tboolean telemetry touchpad touchscreen tracebacks
tracepoint tradeoffs transactional transformative transformers transmissions transporte transporter transporting
truecolor turnaround typeparam unbalanced unchecked unconditional underlined undetermined unidentified unmanaged
unmodified unprocessed unprotected unstructured unsupported unswitch utilizado valencia versatility versionchanged
virtualenv virtualization virtualized warningregistry wimbledon windowbits windshield worksheets yellowstone zipimport
222256 groupdict helvetica multiplicity namedtuple randomization successively 222264 checkpoints specialised
specializations 222265 authorised concurrency correctamente initialised initializations keyidentifier middlebox
middlewares overwritten presumption realistically subscripts threequarters unanswered unavailability 222266 autoimmune
bidirectional businessmen demographics disassembly disclosures entwicklung environmentally fallthrough followlinks
fvisibility granddaughter handwritten heartbreaking iteratively longrightarrow microcontroller motorcycles
notwithstanding proficiency setscheduler splitlines stackoverflow streamlined streamlining subcommands
telecommunications topologically 222267 groundbreaking typography 222276 authoritarian 222277 misrepresented 222321 hpv
222322 dsap dtls dtors entication errata errmsg errno errstr nsname 222323 errnum msgid wsgi 222332 dsse upcase 222333
addrlist addrtype adjtime aligning aligns bgcolor bitset bitsize cmdline condvar emitter envvar errnos exprs fsopen
gradation heapq impls inflate mdlen mdnode msgget msgpack nbby nmemb nmflag nspr objdir objname objref prealloc proggy
quotas reachable reqinfo sliceable srcfile swapoff symtable symver timestamping 222334 fsdecode indenting msgctl 222343
charsets cmdclass recalc 222344 absorption addrconfig addrlen alignas alignments alignof alignstack allocating closedir
deserialize existential expandable expanduser fsconfig inlineasm inlinee objclass objdump parametric payloads
preallocate recompile recompute swapcontext 222345 verbosity 222355 bytecodes digitally expandtab nombreux vsprintf
222365 recalculate 222366 profitability 222444 getevents 223123 abram otto owens 223133 boeing cruz eddie hindu hugo
lionel percy rivera rogers rouge vegas vernon 223134 arkansas bergen lynch sterling 223144 abraham bosnia brewer
deutsche hebrew orthodox rochester sidney wellington 223145 renaissance 223155 chronicles edinburgh friedman jenkins
princeton 223221 espn 223222 aspx begining ctlog dhcp getset igmp mkpath ocms ocsp rdma rdns rekey settable settime
settype struc 223223 alpn antlr bleed efault entsize ondata owur vernum 223232 asserting defaulted defaulting forks
preloc purget purify 223233 accountant alarming algid alpine appendleft beginners beware bisect blinding blinker
blinking bourne braced braille catchall catchret cedar claration cyclone dealings defaultstate duped dupes dyld echoing
ehsize elseif erasing espipe foobar forked forking futex getsid getsig getsize ghbn globalns globals halted hangul
hangup hiproc informational injunction interned intrin ipsum irusr ismatch ivlen jinja keyserver keysize leverages
loopback merkle mingw mkdir munlock nestable nesting nicest nochain nochange nosuid paradox parens parses partnering
performant pertain platbase poisson ponential prelink pretest prism privatekey privkey prtypes prune pruned pruning
pyrex rdonly rdseed refcnt rekor reparent reverb reverts routed scarlet scrollable scrolls seward streamp strhash
terminator terminfo thingies tolist tolower vinay vitest widens widest 223234 extractions globalization grammars joyent
layering licences mortem nosync structors structs ungrab 223242 checksum 223243 callee communion complied datatype
defaultdict initiator internals keysym kludge purported scopeid 223244 abstracted abstracting abstracts activations
actualizar adopters arlington arquivo assembler assignable atomicity audited auditing auxvec bastian bitreverse
blocksize borins borland breakage breakages breakout breakpoint catchpad centration cherished chrono colonization
concussion conditioner conducts covariant crafting elasticity embodies emperature fedora fermat fermentation flavour
forgiving fulcio funky getsignal globalconfig globstar globstars gunzip husky informatics inherits jaraco kanji killpg
landslide libtool litigation mandates mantissa mozilla mulaw netscape nosigs offsetof parameterf parameteri parameteriv
parameterize parameterized pentium pineapple plaintext platinclude platlib poisons prescott privates propositions
recreating redirecting redirects returncode reverted reverting scrollbar segmenter segmenting shielding stuffing stufft
terminates terminators uncached violates visuals 223245 achieves ansicolor keepends standardize sterreich structuring
versailles 223254 academia automotive continuar festivities initiates internship issuecomment overflowed recursos 223255
abstractmethod acupuncture blueprint booleanv breadcrumb breadcrumbs catchswitch conditionally conditionals defaultvalue
durability elasticsearch ensurepip erfahren fibonacci fruitful getspecific grassroots helpfully italiano loneliness
milestones optimisation optimizable optimizers optimizes optimizing painfully parameterised pitfalls platstdlib
pretrained psychosis ratulations representa representable responders streamed strictness technician unpopular
unternehmen untouched vacancies vasprintf violently visualises welcomes worthless 223256 amphetamine visualstudio 223265
internacional 223266 abstractmethods abstractproperty benchmarks breakpoints chronological dangerously escapeinside
friendships getscheduler githubusercontent horsepower ideographic livelihood momentarily optimizations parallelism
parallelization parallelized robotparser 223277 hospitalized optimistically psychologically 223321 gpio ieee 223322
abcde abcdef bbcode cbarg cnri cpuid cvref esterror ffbe ffca ffda fmter gettable gettime ibmc ixoth ldap lgpl llhttp
llvm lrint mmio nlmsg notset onerror pgid piuid pkcs pkgs pkix pkts rcms sgid ssri ssse tbss ttls wtls 223323 aslr atof
dpkg drbg istitle omni onoff ovfl ppval ungroup 223324 isservice 223331 ptsd 223332 fifo openssl pidfd rfcs smsk 223333
accordion acosh agination algors alloca allocas allocator alphas annotate arenas argtypes atanh atfork atoi blinded
ccitt cessation clamping cmpall cmpdef cmpkey cntrl concise csbig cssel debabc dedent dedup ditto dlci dpname dvcs
elapses elfdata emlink envvars erasure erlang eslint fdopen flushes fnmatch foldable fpreg fpstate ftell gettid gtty
guesses hlsl hpux iculture idiom incdir ioctl ischr ixusr kwarg kwds ldbl ldversion learners lgblock lgwin ligature
linting llround llseek lpthread lsda mincore minsize mocha ncalls nocase nocover nostatus ocaml oneway opcodes
opensource oxlint pardir pcdata peeking pendin percents perverse pkisi preadv prlimit putenv redefine relpath renameat
rerun reseed rethrow rtld sbom sdists seekable seekdir slashes spki stdcall strcat strcmp strcpy strtab strtok strtol
tcsh tkinter tmpdir tmpfile tmpname tpflags ucrt uintmax uintn uptime voidp vtables wearable xslt 223334 attrname bcrypt
entrytable ersistence fetcher fetchers fetches idioms indentation lexername mentality mentoring merges ordinance
ortality ourself reloading rollover tcflag undoing 223343 compactly constellation cursors discarding endswith
interceptors lineno linenos lintptr magenta moderation respecting stdcpp 223344 abolished aggregator allocatable
allocates allocators ancillary annotates annotating aspiration asterisk astonished awaitable awaited ccshared cofactor
compressing contrasting decryption dedicate detachment dhparam dispatching dlclose dlopen dstaddr elfclass emitters
emoji emptied empties emptyset emulates emulating entrypoint exploding externals fallbacks flipping ftello hesitation
hydration icultural ifference ircraft isclosed isoformat isolates isupper ivalence journeys jsdiff ldflags ligatures
lintfix loadereng lpvoid mallocs mediately misconduct misinformation moveto numericstring omitting outermost outsider
outsiders oversized perturb plugged plugging preempt psuffix queried quotations redefined redefinition registrar
registries reloaded reprlib requently reroll resentation rewrites rrshift scratching sequently sourcing stdbool
strsignal terraform tmpnam uintptr urgently urlencode variances weakening weakly weakref zoomed 223345 entrypoints
forecasting ignorecase reevaluation warehouses 223354 competency intercepts respectful restrained startswith subseteq
223355 alphabetic conciliation creatively decodebytes decrypted degrades ejemplo encodebytes encodedpoint endeavour
entreprise entreprises iciencies idiomatic ldshared movimiento nocapture ondestroy orthogonal pendicular precedented
pronounce recognizable recognizer registrations sequencer stylesheet tkconstants umbrella unclassified unsuitable
urlencoded urlpatterns 223356 ordinarily 223365 respectfully 223366 fahrenheit parenthesis stylesheets unsubscribe
223377 efficiencies 223444 utterstock 224355 conditionalize 224444 addoffset istribution 232122 isaac 232123 arnold
232133 arabic bernie dalton jacob jonas julia katie kimber lewis oregon 232134 antony leslie 232144 africa atlantic
istanbul jonathan stanford 232222 iglob ivalue 232232 ndebug 232233 invalidation invalidity iterdir runnable untested
232243 haskell 232244 closures eresolve hashlib 232255 nottingham 232321 bmw 232333 bufsize urlsafe 232344 urlsplit
233133 ahmad alonso cecil ernest greece greeks jahre kirby nelson nikol ukrain wendy 233143 iraqi 233144 hoffman jacobs
munich 233155 kubernetes 233223 gnuc isaacs 233233 italics munmap 233244 andersen bdflush 233266 geschichte 233321 uefa
233322 ktls msvc nvarchar rdwr sslref 233323 cterr ffffffe ffffffff msdn oaep psuid rcvd xxxxxxxx 233331 ussr 233333
atrtype ecdhe eilseq enetdown enoent enosys ictionary isdiction npmjs npmrc otplease redoable rmdir rmtree rwflag rwlock
ternary tzinfo ubsan uefi ufffd urrection utsname veillance xfffd 233334 atexit itionally plementary plementation
rewinds xtensa 233335 erialization 233343 cppflags hwaddr hwaddress 233344 ancellation apsulation asionally condattr
enetreset enoexec eshutdown esthesia ictionaries icularly ingerprint inttypes iptables ispunct malloced npmcli oauthlib
omicron perimental prisingly rlshift stitutions structions ublished ublisher unaligned unchanging unnested upuncture
xpixel 233345 atchewan ertificate inecraft zeichnet 233355 ahrenheit ellschaft ifferential ificaciones ificantly
npmignore ographers urrencies 234244 agnostic 242155 melbourne 244477 ynchronized 244488 ynchronously 312133 bloom
celebr officer pepper prayer saints surely 312143 recently 312144 cemetery crazy diamond entertainment executive
governor investment liberal liberty municip proceedings researchers securities situation southern southwest suddenly
312145 laboratory ultimately 312154 northwest society 312155 administrator broadcast consequently conservation emergency
hopefully 312166 administrative conservative 312222 europ redund 312233 adults conceptual cowork deaths depict depois
depuis dialect diesem dieses diverse dominance dominate drugs elabor escapes escaping especial eternal experts frankly
hunger louder marching moments numerator numerical numerous outright paintings premature premise providing reducing
relied repeated sabot securing sempre stayed staying steward sudden toward trusting trusts truths useful victim wanting
312234 retains uncertain 312243 constitute decisions designers designing designs diversity interviews regeneration
312244 adjustable adjusting adjustment aftermath apartments barriers buckets cancelled conversation demanded determines
determining emerged emergence empathy evaluated everyday executing experiments foregoing fractional freshly freshman
gathering governed governors hierarchical hierarchy hungry inhibition integrity intentions investig investing investor
investors machinery machines marginal margins mechanical migrate officials pitching remedy repeating researcher
researching royalty spectral surviv tolerance towards travelers traveling treating trends triggered triggering triggers
victims victories wildly 312245 youngest 312254 comparative designate diagnosis priorities 312255 adjustments
battlefield civilian civilization consequences constructions consumption conversations experiences governance
governmental governments instantly investigate investigation investigator investments officially permutations smartphone
spreadsheet traditionally universally universities 312265 comparisons 312266 administrators smartphones 312276
comparatively 312333 aspects descriptors 312343 interpolation 312344 answering demanding elevation enumeration examined
examining printers promptly protocols rewarding simplified 312345 acknowled 312355 injections introducing 312366
suggestions 313133 amendment commissioner courts deputy soccer underground wisdom 313143 computing infantry meteor
313144 academic academy adventures advisory beauty brigade certainly council economics expedition gospel guitar harbor
instruments northeast opportunity orchestra southeast television territory treaty wrestling 313145 illustrated
laboratories legislature 313154 communications constitutional corporate corporation industries volunteer 313155
agriculture basketball beautiful collaboration congressional differences electronics fellowship guardian improvement
independence institutional leadership municipal participants publishers publishing revolutionary 313156 legislative
313165 mathematical mathematics 313166 agricultural approximately associates championship excellence hurricane
philosophy photography 313177 championships 313222 cruc euros grasp 313232 diversion sprink warrant 313233 ascertain
asthma bloody bomber bombs bundled bushes canonical carpet catast causing cavity cereal civic clarify cocoa commissioned
computes convenient crisp cruel cruise daher deleting dieser doubled doubles doubt drums enhance evolve exposes faults
faulty favors fazer fewer floors framed fruits gossip guilty happens hurts hypers ihrer impacted implementing improper
jewel kommt meetings mejor mimic myths neces nurses obtained pessoa photoc pillow pirate poorly precise prevented
preventing prevents properly protesters puede puppet pyramid rarely revelation routers sacred sadly sagte sauce savings
sculpt separate seventy shoes sixty souls splits stereo strategic suffers suffice sugars sujet sweat sweep swept syrup
tactics tangent tongue trabal tranqu tribal tribes tricky trouble undergo voyage vulner warmth 313234 elderly jamais
scientist scientists seguir younger 313243 automated companion completes completing computers corpse corrected greeting
interviewed medications monetary mujer novelty pilots solitary someday supervision terrorists warranty warrior 313244
advancement arbitrary assessing attempts avoidance bamboo benefits blessed blindness bodily bottle breathing broadly
capitalist captures capturing catalyst categorical chopped committees complaint compliant concerning consultant
consultation consulted consulting convenience cooperate crawling decreased detecting detects develops deviations
diamonds digestive discrimin dollars doubling drummer dubbed economists electrode electroly eliminated enjoyable enjoyed
enjoyment establish evolutionary evolved exhibit expertise fabrication faithful fifteen firmly firmware flavors flooding
floods foreigners forgetting fragmentation fragmented frequent furnished furniture futures futuro grabbed graceful
happened happening happier happily happiness hardened harmony hazards heavenly hopeless horrible imperative
implementations improved improves improving inhibit involve kernels kissed launching liberation lubric mechanic
mechanics mobility mosaic mysteries naturally newspaper obligation obstruction obtaining participant participate
participated participation peaceful penalties penalty perfectly permitting perspectives pharmacy polarization practices
prepares pretending profiling prospective protecting protections protects provincial rapidly reinforce renewal reservoir
retrieval retrieved ribbon safely savoir sensations sensible separately separates separating settlements seventeen
severely sexuality shoots siblings spectators spherical sponsor stimulate stimulated stimulus strategies stressful
succession superiority supplemental supplementary surveys sustainable sweeping swiftly symptom tendency terrified
theoretical thirteen touches touching traditions treats trucks undergoing vaccination vegetable vegetation vulgar wheels
zombie 313245 achieving champagne extremely famously illustrate narrative symptoms 313254 academics atmosphere
automobile communicate communicated computational computations concentrate concentrated corrections decorative
discrimination inferior initiatives manuscript popularity similarity spiritual subsequent supplying suspected
tournaments volunteers warrants 313255 adaptations advertising allegations analogous announcement architects arrangement
attempted attempting audiences beaucoup believed beneficial briefly brilliant butterfly campaigns certainty cholesterol
chromosomes completeness consistency consultants courtesy demonstrate developing developments differential discovering
economies electrodes eliminating establishing establishment evaluates evaluating evaluations exhibitions fabricated
fingerprint graduating guarante guitarist harvested harvesting hemisphere hepatitis illustrates illustrations
institutions integrating intrinsic involved magnesium mechanism mechanisms microscopic microscopy multiplier mythology
neurological parliamentary participating particularly partnerships personalities personalized pharmaceutical philosoph
photograph photographs physiological politically politician politicians polygons polynomial practically practicing
preliminary presidency principle principles publishes pulmonary reinforced reinforcement respiratory responsible
restaurants retrieving routinely scholarly significance spectacular splitting stimulating strengthen strengths
surveillance surveyed survivor survivors telescope tendencies territories thoughts treatments tutorials unexpectedly
vegetables verschied witnesses wonderful zusammen 313256 achievement knowledgeable 313265 atmospheric autonomous
calculates calculating calculations concentrating coronavirus corporations corresponds manufacture marijuana
similarities subsequently volleyball 313266 archaeological architectural architectures associations distributions
dramatically dynamically economically hospitals morphology observational photographed photographer photographic
sponsorship straightforward therapeutic thoughtful undergraduate witnessed 313276 automatically correspondence
corresponding manufactured manufacturers manufacturing 313277 responsibility 313288 responsibilities 313333 abandon
abundance abundant accordance acidic admire admits agreed anymore arbitr breeze brutal chooses closely complication
conceal concludes conduit conformity conjunction consumers consuming converge cousin crashed crashes crucial cushion
dairy decree defective defects dementia departure deposits dispersion dissip dorsal dozens duties enjoys enrollment
eternity feasible femme fierce fiery fingers floats foolish foremost fossil fragile fungi genuine grapes hacia impatient
implication incapable incremental increments inflated intestine intuition invented jusqu knees knots laughs leisure
lifted liquor loudly meantime neatly nozzle nuevo obscure opioid pistol pneum pouco prayed prosecution pupil receptors
reduces refrain rejecting reliance resilient resonance screws secrecy seldom semantics seulement shrimp simpler slept
sliced slightly slogan sneak sowie succes sucked suffered suffering tackle tastes teachings thighs throat tienen tightly
tragic truncated tumors vastly warned weighing whisper wraps writings wurde 313334 aperture blended blessing coconut
ignorance ignorant impressive leakage mentioning quadrant vengeance 313343 absolut absurd bargain commodity compensate
complementary contingent corrosion curvature decorated delighted delimiter discarded discusses distinctive distinctly
dividend divisible divisor governing greedy incentive incentives incurred interfere intervene interventions mildly muito
overseas passionate pursue sleeve sollte statutory subtle subtraction vocals voluntary warranted 313344 abandoned
abdominal abstraction accelerate accelerated accelerator accumulated accumulation accurately accusations acquiring
adapting adhesive administered admitting adopted adopting affecting affects affordable agreements alleviate aluminum
ambulance amendments amplified ancestry annoying anomalies apparatus appliances applicants appropriate arbitration
arguably articulate artifacts attenuation attracted attractions attractive attributable augmented batteries behaves
behaviors belonging beneath bizarre borrowed brackets browsers bubbles cancellation capacities capacitor categorized
cautious chickens cleansing climbing clustered coincide combustion complicated compliment compressor concealed concerned
concerns concessions condemned confinement confirms confrontation confronted consecutive constitutes construed consumed
contemplated convergence converters conveyed convicted convictions convinced coordinated covariance cualquier curiosity
cylinders decreases defeating defendants definitive delegation demolition denominator departments deposited depressive
deprivation descendants describes describing destroys determinant devastating diagnose diagnoses diagrams dictionaries
differing disagree disappoint discussing dispatched disregard dissolution dissolve divergence doubts driveway
dysfunction eagerly easier easiest easily ecological ecosystem eighteen elaborate elegant elevated enclosing encourages
endorsement enhances enlarged enormous entertaining entirely entirety epidemic evacuated evacuation evidenced evidently
evolving exaggerated exceeded exceeding exceeds excessive excitement executives exhausted exhaustion exhaustive exhibits
exploit exploits explosive exposures farther feminine feminist femmes fictional flattened flawed focuses fragments
frightening frustration fungus gathered gloves grateful gratitude hablar harmful harmless honestly hypoc imaginary
imminent impairment imperfect implicated implying inconsist increases incredible indirectly inertia inevitable injustice
innocence innocent inquiries instincts instructed intentional intricate intuitive invaluable irrational irritation
juvenile kinetics knockout largely laughing launches livestock loosely maintains masculine meaningless measurable melted
menstrual migrated minimized minimizing miserable mismatch mysterious narrowed neighbour nephew newspapers nodded
nominated nonsense nuclei nucleus obedience obsolete obstacles opinions overriding pavement permissible perpetual
persecution phrases plausible plurality poisoning possessing preceded precedence precedent preceding precisely
preferable prejudice preparations prevalent prizes problemas procedural procedures proceeded proceeding proceeds
procurement professors profoundly prognosis prohibit prominence prompted prompting propagate propagated prophecy
proportional proportions proposals prosecutor prototypes proximity pulses pupils receptive recommends reconcile
recovering recreational recycling reductions reflecting reflects refreshing relaxation relaxed relaxing releasing
relevance reliably reluctant remainder remodeling remotely removable repeats repetition replied reportedly reproduce
resignation resilience resolutions resolving restricting retrospect revealed revealing reversal reversible reversing
rivalry screaming screwed seemingly shuffled shutting simplest simplify sincer slipping slopes smells smoothing sometime
spawned sponsors squeeze stabilize stretches stretching stripped stripping subsidies succeed sulfur summaries summarize
supplementation supplemented supplements surrender survive susceptible suspension sustained tandem tattoo tempted
tempting tentative testimony theatrical threatens throttle tilted tolerant tolerate tolerated tossed trademark
trajectories trajectory transistor tunnels undergone undermine underscore unfolding unhappy unreliable unwanted
unwilling upgraded upgrading vacuum vampire varieties velocities viscosity vomiting vowels wholesale widespread
wondering worrying yielded 313345 amplifier antagonist antibodies anticipation attendees derivatives encontrar
extraordinary heavily illuminated illumination inaccurate inefficient legislation merchants narratives portrayal
portrayed terribly 313354 absorbed absorbing bargaining calibrated casualties companions complained complaining
comprehend comprised compromise constituent constituted contaminated contingency correlate degraded deliberate
desperately discussed distracted incorrectly incumbent infectious infiltration interfering interpreting lifestyle
manipulate manipulated manipulation moderately overlapping overlaps overlooked overlooking plaintiff purchased
purchasing reciprocal recurring satisfaction satisfied satisfies satisfy serotonin substantive superficial supernatural
suspects suspicion trafficking travelling 313355 abbreviation abnormalities accidentally accumulating adolescent
advocacy advocates aesthetic aforementioned aggregates alcoholic allegedly ambiguity analysed analytical analyzing
anesthesia antidepress apologize appearances appreciate appreciated appreciation appropriately approximate approximation
arrangements aspirations assemblies assessments assistants believing censorship ceremony challenged challenges
challenging cigarette cigarettes coincidence collaborate collaborated colleagues comprehension conflicting conflicts
consistently consolidate consolidated consolidation contradict contradiction contributing convincing criminals
criticized cultivated declarations delegates destructive deterministic diferentes differently difficulties diminished
diplomat disappear disappears disappointed disappointing disappointment disastrous discharged discoveries discriminate
dispersed dissolved distinguish disturbance disturbing eccentric efficacy efficiently eliminates embodiment embodiments
emotionally encountered encouraged enhancing enriched enrichment epilepsy establishes examinations exclusively exemption
exercised exercising exhibited exhibiting expenditure explanatory explicitly exploited exploiting explosions fabulous
facilitate facilitated feasibility financially forgiveness franchise frequently fulfilling genuinely graphene harassment
hazardous highlighted highlighting historians hypotheses hypothesis illegally implicitly improvements inadequate
inaugural incompatible inconsistent increasingly incredibly indifferent indispensable influenced influences influential
inhabited inherently inhibited inhibitor inhibitors innovations innovative intellectual intentionally introduces
involves involving irrespective legitimate leukemia linguistic meaningful militants mirrored multiplied multiplying
mushrooms negligible negotiate negotiated negotiation neighboring neighbours nominations occasional occasions
opportunities pancreatic pedestrian penetration permanently phosphory pioneering pipelines pragmatic precipitation
predicates predominant prerequisite prescribed prescribing prestigious presumably prevalence professionally
professionals prohibited proprietary recommendation recommendations reconstructed reliability repertoire repetitions
repetitive replacements reproduced resembling reservations restrictive retrospective rewritten satellites scenarios
schedules scrutiny semiconductor shrugged situations smoothly spontaneous stabilization stabilized stiffness succeeded
sufficiently suggested suggesting suggests summarized supposedly surrounding surroundings surviving suspicious teammates
temperatures terrifying territorial themselves threatened threatening transferring translating turbulent ultrasound
unaffected uncomfortable unconscious understandable understands undertaken undertaking undesirable uniquely uniqueness
unnecessary unpredictable unreasonable unsuccessful wavelengths willingness withdrawal withdrawn 313356 acknowledge
antibiotic antibiotics antioxidant collaborative extensively helicopter 313365 communicating compromised deliberately
disciplines insignificant manipulating metabolism recurrence satisfactory satisfying silhouette simultaneous subscribers
substituted substitutions voluntarily 313366 advertised affiliates affirmative assassination assumptions bankruptcy
circulating deficiencies differentiate diplomatic disadvantage disadvantages disagreement disappearance disappeared
disappearing discouraged dismissed distinguishing distributing disturbances drastically earthquake ecosystems
electromagnetic enthusiasm expenditures experiencing explanations exponentially facilitates facilitating frequencies
fundamentally genetically homosexual immigrants indefinitely independently individually influencing inhabitants
involvement longitudinal negotiating negotiations neighborhood occurrences organizational penetrating perpendicular
philosopher spokesman spokesperson spontaneously stakeholders surprised susceptibility sustainability synthesized
temporarily theoretically thoroughly touchdowns transmitting transplantation turbulence unfamiliar unfortunate
unprecedented 313367 acknowledged 313376 correspondent manuscripts recursively simultaneously substantially 313377
cardiovascular gastrointestinal heterogeneous predominantly significantly synchronization synchronized 313444 erroneous
313455 diagnosed 314244 hundreds recycled 314255 behavioral complaints 314265 incorporated 314266 citizenship 314343
purposes 314344 ancestors embryo enhancement fascinated hypertension larvae laundry necessity obliged opponents
oscillator phenomena privilege struggled struggles struggling therapies 314345 ineffective 314355 apoptosis circumstance
demonstration fascinating forgotten jurisdiction landscapes nineteen nutritional obligations peculiar phenomenon
pregnancy privileged privileges pronunciation recruiting recruitment sacrifice stochastic terrestrial therapists
weaknesses 314356 achievements fluorescence fluorescent uncertainties 314365 controversial controversy incorporate
incorporation internationally 314366 advantageous consciousness guarantee hydraulic kilometres nanoparticles nineteenth
principally ridiculous strengthening unemployment unterschied 314376 incorporates incorporating 314377 circumference
circumstances 314443 maneuver 314444 ammunition energetic frustrated interrupts prolonged sovereign 314445 anticipate
anticipated scrambled 314454 constituents intermittent protagonist 314455 abruptly accompanying adequately emphasize
entrepreneur frustrating inevitably mitochond resemblance 314465 constituency 314466 emphasized emphasizes entrepreneurs
sovereignty 315466 unemployed 321344 enumerator 322122 doug 322133 british bryan craig egypt franco franz jewish louise
lucas lucy marcus nigel olymp palest pearson philip pierce pierre victor 322134 germany quebec 322143 marshall pacific
322144 americans americas brazil cambridge cowboys dublin european europeans franklin gabriel graham julian lloyd
matthew mexico navigator penguin republican republicans september sydney 322155 february gibraltar southampton 322165
hungarian 322166 furthermore 322177 philadelphia 322222 newname pprefix thefile 322233 aparams csignal deflate deflation
dominator eflags egrave eproto fflush fsqrt hinted hinting ldouble ncolors newwin numeral optsize pearance pearls
retried retrying secmem trustee trustother truthy wakeup 322234 reexport 322243 recenty 322244 adjusts administr arduino
catalogs cleanups consumes cookbook dominates dominating dominators dominican drafts ecommerce evaluator freshness
freshwater lookups magnus mixins ngroups numerals ocommerce optnone residences saltlen shebang stubbed trustees truthful
usefully victorious wakeups wildcard xdigit 322254 comparators designates designating silverwind traversal 322255
appraisal browserify civilized conceptually diagnostics embeddings executionengine experimentation experimented
experimenting instantiate instantiated instantiation instructional livingston prepublish sourceslist southwestern
sweetheart syntaxes tensorflow thankfully universalstring universidad wildcards 322256 youngsters 322265 northwestern
322266 civilizations instantaneous trustworthy 322333 injectable injecting memoize scalars soothing 322344 memoization
memoized memoizing ptrdiff requisite signedness 322345 ordinals 322355 invitations 323133 barker barnes browns buddh
buenos canyon carpenter clarke cuban davies eagles fraser gibbs gibson hassan hastings hudson jews kunst nepal norton
protestant sloven sudan tunis 323134 ethernet 323143 curtis warsaw 323144 christie christmas conversely crimea
federation francis huntington institutes kosovo maggie miguel paradise safari toyota trevor 323154 superintendent 323155
alzheimer bluetooth buckingham cathedral christian christians consortium cunningham florence gallagher squadron virginia
wisconsin 323166 christopher democrats observatory 323222 cafile smtp 323223 sparc 323232 pacote 323233 adaptor beverage
beverages bogus briggs canonname caveat clarification climits coastline cobol commissioners contestant cruft deref
deviate dolor doubly dumper egginfo faulting forgettable frsize gladly hackery hacking hacky hassle hypot implementer
implementers implementor implementors lazr librt mimics partitioned partitioning pixmap preparer preventive safes
sectname sjis squash suffices tunable vulns warmup winsize winsock wrestler xenix 323234 cavium extractall gathers
323243 automake automata automate automount completer computable concentr inferring interviewer interviewing mangling
patriarch sigmask solaris spellings thismessage trailers 323244 aberdeen adaptors advertis advisors agricult allegation
allegiance avalanche blindly bouquet branched briefing brittle broadcom capitalists capitalize captivity carbonate
caveats christine clarations clarified congregation consolation consultar contestants conventionally cryptic cucumber
detectable detectives directorate dissertation dubious economical ensembles extractvalue fearful futimes grayscale
gustavo hazmat impactful institut instituto islanders lambdas lazily leveraging luckily maximally maximizing mimicking
ministries oliveira paralysis personalize pharmacies pharmacist pointerv postsnap practise practition preventative
reformatted reinstate retrieves revelations sensational separators severities shootings slovak sophia sorhus sparkling
sphinx squashed starvation stripper suffixed suitably tortious vaccinated whitespace willingly 323245 cryptoerr
cryptopro extractelement illustrator knowingly 323254 analogues apostrophe automates automaton collegiate communicator
communism cornerstone decorations marvelous singleshot subroutine subsections 323255 acronym advancements amazingly
astronaut bathrooms benefiting biomedical bloodstream broadaddr broadcaster butterflies campaigning canonically
capitalism capitalization capitalized cardinality cassandra christina christoph christophe colourful congressman
consultancy consultations cooperating copyrighted cultivate cultivation cybersecurity dealership dereference deutschen
distribut distributes faithfully federally fishermen gracefully graffiti guardians hamburger homeschool hypercall
hyperlink illustrating instituted integrals integrates jurassic landingpad launchpad memberships motivating nachricht
neurotrans northeastern participates peacefully picturesque powershell raspberry responsable sacramento salvador
savannah saxutils schematic schwartz sensibly snapshots sophistic splitted stimulates strategically strawberries
strawberry strikeout suitability trembling vaccinations vegetarian veterinary watershed whitespaces 323256 heavyweight
legislators 323265 automobiles concentrates subsequences 323266 associating associative associativity beneficiary
brotherhood conservatives distributor distributors fingerprints hurricanes hypervisor mechanically multicultural
personalised professionalism rehabilitation responsibly scientifically sequentially transitively wonderfully 323267
merchantability 323276 internationalized manufactures spiritually 323277 certificatehold cryptographic cryptography
electronically responsiveness securetransport 323288 bibliography conservatively synchronously 323299 cryptographically
323322 crtp 323332 aflg 323333 accusation adaptable advisable attainment cacache cacheline cancels charmap coatings
conferr conformant crlf crlid crls curses datalen decref decrements definable deflated deleter deltas departing doctest
escapable excinfo flockfile forbids framing governs impedance incrementable incremented incrementing inexact inserter
instrs inventive irresist issuance linebacker loglevel minimatch mypy newcomers nibble nodata nodename nodot noinline
noverify numerics oblique obtains opportun parsable placate preamble precaution progname prologue proxied proxies pylint
reflexive resorting scalable scalbn scandir scev scurry sightings sighup slackware slicing smarter socktype stapled
strided sublicense succinct summation superscript sxnet syllable tabsize tblcount tblname templated thinly tighten
timedlock timedout tokensource trapno truncate truncation unicast unlocking unlocks unmute uplink wininst workloads
323334 attentive bitterly calendars enforces extensible nofilter nuisance registros wrappers 323343 callsite
commencement compensated complementof controllable datasize datasource decorate decorator delimited deliveries
desperation discardable escalation greetings incentiv includedir intercepted interpolate interpolated interpolator
interprets intervening inverses malfunction monumental overlaid overlays overloads petitioner recipinfo recurse recurses
redacted restarted restarting restitution saturate sigdump sigiot sigsys solicit sublist supervise vocational 323344
abandoning abbrev abbrevs absolutes acquires addictive adhering administering admiration adversary adversely adversity
affordance allotted announces apartheid appellant archetype arrogance articulated asbestos assistir atrocities
attracting autoreset backtracking bailout behaved belongings betrayed bilingual blowfish borrowers bracketed brutality
brutally buffersize bypasses bypassing camelcase cancelling caracteres cascading categorize certsign chunked chunksize
cloexec coalesce coerced coercion combinator combiner compartir compilers complying composers compresses conceivable
conformance confronting congestion congruent conjugate converged convergent conveying conveyor convolve criticize
cutoffs dangling decayed deceptive declarator decremented deduce deduced deduces delegated deletions denomination
dependable dependents depressing deregister devastated devastation disguise disparate disparity dispatchers dispatches
disponible disposable diverged divergent dontcare dontneed dynlock embarked empowering empowerment encrypts engagements
entertained enumerated envisioned evangelical evolves excavation exchanging exemplary exhausting expansive expiring
farthest fascination fashionable fashioned favourable fermented filedialog financier flattening forcibly freelist
freelists freshest frightened functors gatherings gcrypt globbing glossary hashtable haskeys horizont hydrated impartial
impeachment improbable incarnation incrementally indefinite indentless indictment indirectbr indispens inductive
infringe inhibits inspecting inspectors inspects instrlen instructors instructs integerv intensified intimately
intrusion intrusive inversely invertible irrigation irritated itinerary liquidity luminance maintainer memorandum
minimalist minimally minimise minimization minimizes multicast multimap multipage multipath multiport narrower narrowing
nearbyint nofollow nominees nominmax nounwind obscures orphaned overridden overturned parallels paranoid parcelable
parsedate particulars peasants perfected permissive pesticide pickleable plurals poisoned postponed precautions precede
precedences preciese precisions prefixlen primitives pristine prohibits promotable provisional provisioning pseudos
pthreads quarantine rasterizer rearrange reassoc receipts reclaims recommending recoverable recycler redesigned
refreshed reiterated reluctance removals renovation reopened reopening repairing replacer replicas researched resembled
resentment residency residuals resolvers resurrection retaliation reuseaddr reuseport rhythms ripemd runtimes sanctioned
sanitize scalarize segregated segregation sequelize showcased shrinking shrinks shuffles sighandler skewed sloppy
smoothed smuggling sockaddr socketserver sockios socklen sockopt sourced spawning spawns staggering stipple stitching
styling suffixes supervisors sustaining swallowing synonyms syntactic tampered tblgen templating temptation tertiary
tightened tightening timedelta timedwait tobytes tostring truncates truncating tweaks typedoc unbounded uncompress
unfolded unfolds unintended uniqued uniquing unlabeled unlawful unleashed unmapped unpacked unpacking unpacks unpickle
unreachable unveiling unwinding unwrapped uplifting vendored vendoring wasteful watermark widenable widened widening
writestr zombies 323345 achievable adrenaline antivirus attendee categorias collabora elliptic enforcing formulario
ignorables illuminate inauguration oppressive rewriting tombstone torchvision verbatim 323353 checksums 323354 autoclass
awakened awakening callsites cleanupret commercials commodities compartments complains completions composited
compromises compromising compulsory concatenate concatenated concatenates concatenating concatenation constraining
constrains decidedly decimals decorating decorators degradation delightful distracting diversified dividends escalating
greedily infertility insightful inspections interchangeable intermediary intermixed interpreters interrogation
intersecting intersects linenumber manifesto manifests midfielder monospace monotonic overflowing overlapped overwhelm
overwrites passionately porcelain primality professionnel recursing restructure siguientes snackbar solicitud strangely
substitutes subtitles subtracted subtracting subtracts superseded travellers traversed traverses traversing unanimous
vibrations 323355 abnormally accelerating accelerators accompanies accumulates acquainted adjacency admittedly
adolescence adulthood advertise advertiser advertisers advertises advisories advocating aesthetics affidavit affirmation
afflicted aggregating algorithmic alphabetical aluminium analyzes anonymity assaulted assembling assurances
authenticator authenticity believable bicycles billionaire biodiversity bipartisan boilerplate brilliance bypassed
cartridges cautiously centrally challenger ciphertext closesocket collaborator collapsing combinators comentarios
condemnation confidently confusingly consciously consequential contemplating contraception coordinating courageous
criticisms criticizing culturally declarative decompose decomposing decompress decompression decrypting decryptor
delegating demolished departamento dependences deploying deprecatedin destructor detections determinism diagonals
diagrammed diagramming dictatorship diminishing disconnecting discretionary discriminant discriminated discriminator
disparities disponibles disruptions dissemination distinctions distractions dysfunctional ebenfalls encompass
encompasses encountering encrypting encryptor enlargement enlightened enlightenment enormously enumerating enveloped
envelopes essentials etiquette exceedingly excessively executables expansions favourites flavours flourishing franchises
fraudulent goalkeeper granularity graphicstring hygiene inaccessible incompetent indifference inflammation inflicted
inheritable inheriting interruptible invariably invariants invocations irritating longevity luminosity magistrate
migrating mirroring mismatched mismatches mismatching motivational motivations multipliers multiplies navigating
negotiator nominally notoriously numerically outbreaks pedestrians penetrated persistently persuasion persuasive
pesticides poisonous primordial prominently propagates propagating provenance provisionally provocative punctuation
quadruple reachability reassuring recipientinfo recomputed reconstructs redistribute redistribution registrado rehabilit
rejections relativize relentless renovations replicates replicating reproduces reproducing restructuring revolutions
robustness sanitized sanitizer scalability scalarization schedulers screenshots seamlessly semantically sentimental
shredded shrinkwrap shuffling significand simplification simplifies simplifying slideshow snippets spaceship
storytelling structurally subclassing suffixlen suggestive summarizes sunglasses suppresses suppressing supremacy
surrounds suspicions synthesize tablespoons temperament temporada temporaries thermometer thermostat tirelessly
transcoding translators tratamiento tunneling unavoidable unconventional unconverted undisclosed uninstallation
unmarried unpublish unrealistic unreserved unresolved unrestricted utilisateur vaguely vielleicht withdrawing 323356
collaborating collaborations destructuring encapsulate encapsulated encapsulation encontrado homelessness underestimate
underestimated 323365 authenticates authenticating communicates completamente concurrence contaminants continuations
correlates dinosaurs disciplined generalizedtime interactively interchangeably intermediates manipulates manipulations
meticulous plaintiffs seriousness subdivided subdivisions subscribed substituting unanimously volunteered volunteering
yourselves 323366 actividades administrations adolescente affordability aggressively announcements anonymously
anthropology apologized approximations artificially attractiveness benchmarking breastfeeding carbohydrate cipherlist
collaborators confidentiality criticised decomposed decompressed deployments dereferences diferencia disruptive
distinguishes earthquakes einzelnen encryptedkey equivalence equivalences equivalently equivalents exemptions
experiencia explicitely familiarity firefighters functools fundamentals innocuous intelligently intuitively jealousy
legitimately librarian microsystems millennium millimeters misunderstand multiplicative negotiates neuroscience
prerequisites pseudonym reassociate reassociation reconciliation redistributed reluctantly righteousness simplifications
subclasscheck subclassed subclasshook subconscious subsystems synchronize temperatura tentatively transparently
uncompressed unrecognized unsuccessfully withdrawals 323367 antioxidants encapsulates encapsulating 323376 pornography
323377 alphabetically deterministically disadvantaged encryptedcert encryptedvalue misunderstanding misunderstood
programmatically spokeswoman surrogatepair surrogatepass synchronisation synchronizing unnecessarily 323387
autobiography interdisciplinary 323388 affiliationchanged surrogateescape 323445 deducted 323455 erroneously 324144
aboriginal 324277 principalmente 324333 sufferers 324343 sprinkle 324344 cohesion cohesive commemorate culmination
diligence glyphs maintainers necessities neutrality obsessive opinionated principio reinforces 324345 stereotype 324354
compassionate 324355 aggravated astronomers astronomical carcinoma circumvent effortless enhancements entsprechend
friendlyname fulfills imaginative kidnapping leftovers maintainability mistakenly obligatory phenomenal punctuated
rebuilds reinforcing strengthens stylistic witnessing 324356 stereotypes 324365 controversies inspirational mosquitoes
324366 astronauts behavioural circumflex effortlessly flavorful heterosexual inheritdoc pleasantly pregnancies
principales principals vigorously 324376 socioeconomic 324377 extraordinarily ridiculously 324433 wrinkles 324444
apprentice entreprene pervasive 324445 encuentra inequalities scrambling 324455 dismissing fertilizer frustrations
fulfillment irreversible typedefs 324456 anticipating helicopters 324466 contradictions emphasizing insufficiently
324476 competitiveness decentralized 331133 israel japan 331144 russia russian 332133 alexa bruno hanson hawai johns
julie roberts snyder sweden tokyo 332134 jimmy rodrig 332143 saturday 332144 alexander argentina australia carolina
harris johnny johnson joseph november pakistan robinson taiwan 332155 australian bernstein japanese jefferson jeffrey
williams 332233 ifilter memdup redaction secbits 332234 itercnt trylater useconds 332244 dickinson leonardo 332255
gregorian manylinux 332266 jacksonville 333122 mickey 333123 athens 333133 abdul albany arabia auburn baltic baxter
bengal beverly bryant cyprus dallas dawson fowler fritz glenn gothic hodg kabul lebens mormon nazis paulo santos scotia
steele stefan tehran theodore tibet tucson walsh wolfe 333134 celtic 333143 patterson 333144 apollo armenian atlantis
buddha caribbean carnegie croatia dakota ecuador eugene evelyn francesco garcia georgian henderson hughes indonesia
julius ludwig moscow nevada phoenix portuguese punjab russell soviet stuttgart thompson valentine vietnamese wolfgang
333145 kennedy queensland singapore 333154 geoffrey holocaust nicholas vladimir 333155 canterbury colombia confederate
giovanni johannes malaysia malaysian minnesota mississippi napoleon nicholson philippine reynolds richardson roosevelt
santiago sebastian vancouver wilkinson williamson 333156 afghanistan 333165 corinthians norwegian 333166 bangladesh
deutschland fitzgerald indianapolis louisville palestinian philippines pittsburgh presbyterian saskatchewan 333222 pikey
333233 rafael sparcv 333244 eckey huffman icelandic indonesian macedonia mavericks sparingly tunisia uruguay 333245
ethiopia 333254 marshaller marshalling 333255 croatian gonzalez jeremiah nicaragua slovakia 333265 hernandez 333266
bulgarian guatemala scandinavian unicodeobject unicodeoutput venezuela 333321 lgbt ncaa 333322 dlerror dnsname readdir
333323 dirstring servername 333332 bmpstring cgihttp debuginfo openbsd popleft siginfo 333333 abiversion addressof
addrinfo algnid apientry attestation attribs backporting backtick basetypes bisection boottime bytestream cgscc codecvt
colormap conftypes cpsuri cvtcil datastore deferring dlfcn doallarg eacces ebadmsg ebadsize eecdh enolck enotdir enotty
entitlement eunatch fcntl filenames fionread flusher fptrs fseeko fstatat fstatfs gaierror getdents getegid getnameinfo
getpgid getregs gssapi heaptype hstrerror ifdefs imodule inotify ioctls ioperm isalnum isascii isatty keylength lchown
lcssa ldexp loongarch loongson lsizei lushort macosx mdalgs mdnid metainfo mlockall modulename ndigis ndigits nodefault
nointern noreturn nvcsw opendir pbkdf pdigest phentsize pknid pktinfo posixpath postincrement postpone potherid pqualid
preincrement prerelease prpsinfo ptmcg pygments pystate pyvenv readahead reimplement reordering resumable resurrect
revents rsadsi rsapsk scissor seperated setregid setregs setreuid shentsize shminfo shmmni sndinfo srpinfo srpsalt
strflgs svcloc tlstree toascii toplevel tristate truename typeahead unindent unreadable usascii usernames utctime
valgrind vcpkg veillard waittime wpacket wronly xbitmap xchg xfffffff xffffffff xlinker xmlrpc xmmreg yanked 333334
adbtbl ellipses enospc ethertype gnutls indutny itemgetter ogonek onabort psafes uncatchable vcbuild 333335 reworked
333343 basenames cstddef cstdint decodable delimiting nextupd octetstring openpgp overarching picomatch retriable rsautl
setegid setpgid sigabrt sigalgs sigalrm sigchld signalfd sigsegv sigttin sigwinch sizeinbase sscanf statvfs stdexcept
thisupd 333344 abiflags acyclic addralign addressee addrspace adjascent allorfirst alphanum ansiformat appveyor arborist
ascertaining asyncio attestations backslashes backticks basestring binascii bitcasted bitmasks booleans bracketing
bundling bytestring ccompiler changelog ciphers clobber cmdoptions coalesced coalescing codepoint codepoints coeffs
collapses colormaps committish consequat ctermid dataclass datatypes deadlocks deallocated deallocation deallocator
debuggers decrementing dedupe defacto delimiters denormalized deprecate deprecates deprecating deprecation depreciation
dgettext disjunction dithering dllimport doallfunc dperini duplicator ecanceled ediparty ehostdown ejsonparse enabler
encodable encodings endmarker enotconn enotfound enotsup enqueued entitlements epilogue eradicate everlasting everseen
evicted evicting execinstr execveat execvpe extglobs extranet exuberant faccessat fadvise fanotify fionbio fpathconf
fptrunc freebsd fscanf fsencode getdelim getentropy getgrnam getitimer getloadavg getnewargs getoverrun getpagesize
getpeername getresuid getrlimit getrusage getxattr gthreads hackerone hdrlen heappop heuristics hugetlb hyphens imatmul
immedok impexp inalloca inbounds infinities informatie inlinable innermost introspect introspection iostreams irwxg
irwxu isfifo isysroot jmpbuf keccak khronos lbitfield lchmod libcalls libcrypt libintl libnspr libpthread libstdc
lissuer ljsdf longjmp lookahead loreserve lowercased lozenge machdep matthias maxnamelen maxnamlen maxpathlen maxunicode
metaclass minizlib mipseb mnemonic mprotect multisample multithread mutexes nastiness ngettext nlocals noclose noconv
nodelay noproxy noreplace noreserve noticenos npostfix nsignals opengroup optionxform osfhandle overridable overriden
overruns packagename parameterfv pderlen pkeyparam pkiheader plistlib pluggable pmacalg pointee postgresql preallocated
prefinish prepended prepends prescriptions prettier prettify profilers programmable promisify protobuf pwritev pyexpat
pymalloc pyopenssl pyparsing pythons raverified rdivmod readlinkat reallocated reallocation reclaiming reconnecting
recvmmsg redefines redefining reentrant refactoring refetching relocatable relocates relocating remediation repositioned
resurgence rewinding rindexes roundtrip roundtrips schlueter semicolon sendmmsg setblocking setdomainname setfsuid
setitimer setresuid setrlimit setxattr shallower shkeybag signerinfo simplistic singleresp smimecap staleness storeutl
stricter strxfrm svenska symlinkat symlinked symlinks synopsys syscalls sysmacros timedsend toggled toggles tokentype
toupper ulonglong unallocated unaltered unassigned unavail unblocked unbuffered uncloneable undefines unescaped
unexported unfiltered unimplemented unistring unlinkat unlinking unmangled unneeded unpadded unparseable unparsed
unprintable unqualified unquoted unquoting unraisable unregisters unreviewed untracked untrusted unverifiable
unversioned unwrapping urlunparse utimbuf valuetype vcruntime vhangup vxworks warcraft warnoptions watcomc wchgat
wcsftime wcslen whatwg wherelen whitelist wmemcmp workarounds wrongdoing wtermsig wunused xkusage xrealloc 333345
alejandro bugfixes ellipsis joystick mercurial mersenne namechecks rastructure renumbered renumbering tsbuildinfo
unnoticed unsetenv verbosely vfprintf 333354 autoconf autodetect autofocus autogenerated automodule bigendian
colorchooser colorscheme commutative compositing controllen corollary coroutines datagrams datalayout deserialization
deserialized deserializer hardcoded interlaced interlacing interleaved interleaving interoperable interoperate
interstitial issubclass issuperset keyivgen keystroke listxattr localappdata manifested methodcaller misaligned
misconception montserrat ostringstream overstrike paletted primative reallocates realoutfile saturating semaphores
sigaltstack sigfillset sigqueueinfo sigttou sigunused sigwaitinfo stdatomic subdiagram subpixel subranges subregisters
subscriptable subscripted subscripting subtargets subtyping supersedes traversable whereabouts 333355 abstractions
acquisitions addclosehook alphanums ambassadors amortized bootstrapped bootstrapping brainfuck brightcyan cellspacing
certresponse certtemplate changelogs cinttypes commutativity compilations convoluted copyfileobj counterfeit cplusplus
cumbersome deadbeef deallocates deallocating deallocations debuggability dehydration deprecations deserializes
deserializing destructed destructible destructors diacritic diacritical disallowing disallows disclaims disconnects
disproportion doublestar dsymutil duplicating econnreset edeadlk eiusmod embedders enotempty enumerates enumerations
eprototype ergonomic ewouldblock excursion expandtabs expirations extraneous filterwarnings fipsinstall flammatory
getfixture getinnerframes gzipped hashtables headquartered hexdigest hibernate highlighter hireserve horribly
hotpatchable iagnostics immediates incomparable inconvertible indeterminate instcombine introspected isdisjoint
itineraries khrplatform kronecker kwdefaults libcrypto libxslt lkkjj lookaheads lookbehind madagascar makedirs
mesonbuild microblaze misspelled multilingual multinational multithreading musllinux mutexattr namespaced nanosleep
nodelegated noexplicit noinspection nonblocking nonconforming nonexistent obsoleted obsoletes onlinepubs outsourcing
pexplicit pgetevents pipelined pipelining policyqualinfo polyfills postpublish precompiled precomputed prefetches
prefetching preformatted pyflakes recompiled recompiling reconfigured redirections refactored relativename repercussions
repudiation retransmit revokedinfo rockefeller roundrobin sandboxed sandboxing sanitizers scrolledtext sentinels
setsigmask setsockopt setuptools singlepubinfo spaghetti speculatable sqlalchemy subprocesses superfluous supermarkets
swifterror symposium tarballs teletrust thereabouts timetuple toolchains trademarks traversals trivially uncommitted
unconditionally unformatted uniformfv uninformative uninstalled uninstalling uninteresting unnormalized unredirected
unreferenced unsignaled untokenized unzipped urlcleanup urlretrieve urlunsplit utilizando vsnprintf wdeprecated weakrefs
wexitstatus whirlpool writelines ystatechange 333356 extensibility 333357 otherdictitems 333365 autodetection
commondialog compatability contravariant dataclasses firstlineno malformedrequest metaclasses monochrome monospaced
recursions restfulclient siginterrupt subdirectories subexpressions suboptimal subroutines subscribing unaccepted 333366
alphanumeric ambiguities autocompletion backslashreplace bindtextdomain brightmagenta buildbots deduplicate
devirtualization digipeaters disassemble disassembled disassembler disrupting emergencies encipherment getwindowsversion
handshakes heuristically htmlspecialchars identbodychars issenschaft libnpmaccess nonmultipart onlinedocs parenthesize
pleasepublish pollrepcontent reinitialization reinitialized reinitializes revrepcontent simpledialog surrogates
unconstitutional unconstrained unencrypted uninitialized uninterpreted uninterrupted unswitching wifcontinued xfuncproto
zipimporter 333367 destructively 333376 contiguously interoperability monotonically unacceptably unambiguous 333377
hexadecimal incompatibility misinterpreted parenthesized speculatively trigonometric uninitialised unrecognised 333378
lexicographic lexicographical 333388 discontiguous theupdateframework 333390 lexicographically 333399 asynchronously
333433 dtflgs 333444 dsaparam inttoptr refspecs 333445 tcsetattr 333455 inflateraw 333465 recalculated 333466
bgansicolor deduplicated 333477 getelementptr 334155 mohammed 334176 mediterranean 334256 antarctica 334266 luxembourg
334333 ocspid waitevent 334334 ampersand nosignal owfnid zshrc 334343 cleartext llcorner purposely 334344 activestate
cleandoc enotsock ephemeral getsetattr getsockname keysyms leftover mkdirat mkdirp mnemonics munlockall pbeparam
settimeout shorthand streambuf truetype unhandled unhashable unterminated 334345 ansicolors keepalive 334354 pipermail
somaxconn subjectaltname 334355 algoritm atomicrmw borlandc camellia elfosabi extracerts framebuffer getsockopt laguerre
maketrans mkbuildinf nanosecond optionalvalidity platlibdir rearranged shorthands viljanen 334356 nanoseconds 334366
decompressing kilobytes platformdirs reinforcements unauthenticated 334377 architecturally 334399 unsynchronized 334433
abcdefg cbignum fpregs ncurses pkistatus querystring rcvinfo sfinae ssleay xmlenc 334434 ungrouped 334443 dllexport
opensslv 334444 abcdefgh attrgetter cbargtype deduped fpclassify fpregset gettimeout iosfwd mkfifo nocerts nochecks
nocomment preempts prereleases pygmentize quotactl strtolower throttled udplite 334445 mergesort strcasecmp strcasestr
vfscanf 334455 deduplication diaeresis echoreply fdatasync getaffinity irreducible opaquely preempted prototyped
setaffinity styledefs undeclared uppercased 334456 underspecified 334465 opensslconf 334466 elfclassnone 342255 hexdigit
343344 fexecve 343355 hexdigits smithsonian 343455 eintegrity 344155 ukrainian 344344 ariagcm 344433 httplib ocsperr
344434 xxxxxxxxxxxx 344444 ecmascript emaillen emscripten ippolito jumptable 344454 passthru 344455 eneedauth etsockopt
lkjsfd mitsubishi 344476 passthrough 412166 broadcasting 412255 usefulness 412266 broadcasts 413244 celebrate celebrated
celebration celebrity 413255 celebrating celebrations investigated 413266 investigating investigations investigators
municipality 413277 psychiatric 413333 redundant 413344 redundancy repeatedly 413355 reconnaissance 413356 uncertainty
413366 conspiracy differentiated differentiation investigative magnificent 413467 acknowledges acknowledging 414255
counseling 414266 beautifully philosophical scholarship 414277 municipalities 414344 conveniently lifespan paradigm
prosperity sculpture trabalho vulnerable 414355 adolescents catastrophe ceremonies countryside demonstrated hypothetical
intriguing practitioner practitioners sculptures succeeding succeeds 414365 concentrations 414366 advertisement
catastrophic demonstrates demonstrating demonstrations embarrassing establishments gravitational guaranteed guarantees
philosophers sophisticated strengthened vulnerability 414377 advertisements beneficiaries psychiatrist vulnerabilities
414444 accomplish glimpse reminiscent 414455 abbreviated accommodate accommodation accomplished celebrities commercially
cylindrical deterioration detrimental encouragement encouraging fingertips fluctuations horizontally imprisoned
imprisonment inexpensive influenza neighbouring pneumonia predecessor predecessors proliferation refrigerator sacrifices
subsidiary sympathetic tremendous 414456 merchandise 414465 overwhelming 414466 accompanied contradictory discrepancy
enthusiastic jurisdictions legitimacy neighbourhood sacrificed 414476 overwhelmed 414477 embarrassed neighborhoods
tuberculosis 414488 schizophrenia 415566 ubiquitous 415577 mitochondrial 423255 celebrates southeastern 423256
nonnegative 423344 dialects prematurely 423355 congratulate downgrade embarrass especialmente marginally outrageous
prioritize redundantly 423366 congratulations investigates marginalized prioritized 423377 differentiating 423467
acknowledgment 423478 acknowledgement 424144 syracuse 424255 counselor counselors 424265 spirituality 424277
scholarships 424343 warranties 424344 canonicalize furnishings improperly interruptions 424355 canonicalisation
canonicalization canonicalized canonicalizes canonicalizing complimentary cultivating intrinsics involuntary multiplexer
safeguard sophistication troublesome 424366 behaviours discriminators discriminatory pharmaceuticals photographers
polynomials safeguards skepticism 424376 subsequentmessage 424377 bottleneck guaranteeing intellectually troubleshooting
verschiedene verschiedenen 424444 abandonment inconvenient interruption logarithm logarithmic perseverance preexisting
prosecutors rehearsal rhetorical 424455 accomplishment acquaintance disgusting incarcerated incarceration inconvenience
infringement negligence noinherit reproducible todecimal translucent underscores 424466 abbreviations accommodating
accommodations arbitrarily contradicts disagreements embarrassment inconsistency inconsistently incrementalencoder
perpetrators polymorphic reimbursement sacrificing sincerely subsidiaries synthesizer synthesizing tremendously 424467
inadvertently 424476 meticulously 424477 discrepancies disproportionately homosexuality inconsistencies polymorphism
425477 erfolgreich 425566 dissatisfaction entrepreneurial 425577 entrepreneurship 433155 egyptian 433178 encyclopedia
433344 hierarchies instantiable 433355 congruential cookiejar cookielib deflateraw noglobstar 433366 instantiates
instantiating instantiations 434166 christianity 434177 pennsylvania 434255 caucasian 434344 makesetup mimetypes
safestack splittag splittype sysexits trampoline truediv 434354 satisfiable 434355 cryptodev futimesat membarrier
mintimeout multiplexed pallorfirst safebags tunneled 434365 apostrophes 434366 dereferenceable freedesktop frobenius
hyperbolic kindergarten policymakers 434376 automagically 434377 brilliantly creativecommons intrinsically miscellaneous
responsibilty 434388 certificatepolicies cryptocurrency 434433 writemask 434443 aesccm aesgcm iiiiiiii 434444 cacheflush
exclamdown floordiv foreseeable imprecise irresistible nodiscard nonsensical scalbln sourceless sourcelist sxnetid
unforgettable wireshark 434445 kekciph wraparound 434454 complementofall 434455 adipiscing cleanuppad
complementofdefault cyclonedx insertelement instrinsics introductory lifetimes recomputing retrievable semicolons
singledispatch templatized timedreceive uncategorized unconsumed unicodedata unpickleable unrecoverable 434465
dontpublish purposefully sigsuspend 434466 adipisicing breathtaking challengeresp consecutively decompresses
decompressor dereferenced indistinguishable inexperienced irresponsible multiprocessing pseudorandom pylifecycle
redistributing redistributions rendezvous repeatability syntactically unavoidably unbelievable unintentionally
unpublishing unsatisfied 434477 carbohydrates dereferencing indiscriminately lazyclassproperty schizophren 434487
restructuredtext 434488 incompatibilities 442244 itervalues 443144 hawaii 443344 eremoteio semaphore 443355 ifilterfalse
444166 azerbaijan kazakhstan 444266 palestinians 444277 johannesburg 444344 sylvester 444354 sethostname 444355 fuchsia
rudimentary 444365 volkswagen 444433 addinfourl addtogroup 444434 usernotice 444443 cmsghdr localkeyid 444444 accomodate
afalgeng agreemac apientryp asmparser bytestrings colorterm cpusubtype crlfeol etimedout etxtbsy fchownat
fffffffffffffff fsanitize fstatvfs ftruncate getaddrinfo getfpregs getgrgid gethostname getproxies getresgid idempotent
ifnamsiz issetugid jsonwebtoken katakana lrcorner lsizeiptr maxtimeout mbstowcs newfstatat noticeref nounderline pkeyutl
pothertype prgregset reimplementing searchopts setfpregs setfsgid setresgid shstrndx urldefrag userfaultfd utcoffset
utimensat vcvarsall vcxproj wifexited xcconfig xffffffffu xmlrpclib 444445 rcvlowat 444454 autopurge freeaddrinfo
incididunt metavuln recpientinfo serviceloc sigprocmask sigstksz sigvtalrm 444455 aaaaabaaa argmemonly asmprinter
authsafes bdehamer classderef clobbered clobbering commasepitem consectetur coprocessor csisolatin diacritics dngettext
eaddrinuse eafnosupport edipartyname emultihop endianness eslintrc excepthook faulthandler fchmodat fgetxattr flistxattr
freestanding frozenset frozensets fsetxattr getdtablesize getpeercert ioctlsocket isxdigit itimerspec itruediv kpdecker
lgetxattr libgnutls llistxattr lsetxattr mcollina multibyte nexttoward ordfeminine pbmparameter piecemeal popoprivkey
readthedocs resizeterm retransmits rtruediv semtimedop siocaddrt sndlowat srpverifier strncasecmp tcsadrain
teletexstring tracemalloc trampolines unbacktrackable undecodable undecorated unobtainable unparalleled wstopsig 444456
csmacintosh nosmimecap 444465 autodetected datatracker interprocedural interspersed keystrokes metacharacters
subdiagrams 444466 addrspacecast alphanumerics certrepmessage ciphersuite dependecies devanagari devcryptoeng
econnaborted econnrefused enoprotoopt getfullargspec hashedrekord htmlentitydefs levenshtein libfuzzer libgcrypt
libnpmdiff libnpmfund lookbehinds maxhostnamelen multithreaded nextprotoneg posixsubprocess pydistutils qqqihhh
readystatechange removexattr renegotiate renegotiation ruyadorno shlibcrypto shufflevector siocdelrt siocsifaddr
stdmethodcalltype unsolicited visiblestring wifsignaled wifstopped xmlcharrefreplace 444476 keycompromise
printablestring recalculating 444477 certorenccert counterintuitive disambiguate edestaddrreq insensitively renegotiates
renegotiations sitecustomize strikethrough xfuncprotoend 444487 unambiguously 444488 getdefaulttimeout getrecursionlimit
setdefaulttimeout 444544 wsastartup 445445 abfnrtv 445455 settimeofday 445466 framebuffers getservbyport removefromcrl
445467 joyeecheung 445488 craftsmanship 445544 fdopendir ifloordiv 445545 wcstombs 445555 csshiftjis elfdatanone
gettimeofday gettotalrefcount mkfifoat mvwdelch pkifreetext videotexstring 445566 iscoroutinefunction 455545
ffffffffffffffff 455555 enetunreach 455566 nfsservctl 455577 ciphersuites 515566 accomplishments 525566 bureaucracy
525576 overwhelmingly 534455 downgraded 535577 incrementaldecoder 545455 digestbyname takewhile 545477 fremovexattr
545499 cryptocurrencies 545544 removeprefix 545565 sigtimedwait 545576 sindresorhus 545577 cacompromise enametoolong
555555 eopnotsupp getcpuclockid getprotobyname poposigningkey tcgetpgrp 555556 tcsetpgrp 555565 linuxfoundation 555566
bnoordhuis eaddrnotavail ehostunreach eprotonosupport esocktnosupport gethostbyaddr glazebrook guillemotleft
inaccessiblemem libnpmexec msvccompiler nooldmimetype pkipublicationinfo tgsigqueueinfo 555567 noninfringement 555577
aacompromise csisolatingreek getandroidapilevel guillemotright libnpmpublish lremovexattr mathiasbynens siocgifconf
siocgifflags xfuncprotobegin 555587 onlysomereasons 555588 signedandenveloped 555655 pkifailureinfo 556566 getservbyname
556587 blueoakcouncil 556655 sslkeylogfile 556666 minsigstksz 657699 privilegewithdrawn 666655 gethostbyname 666677
siocprotoprivate 666688 csisolatinarabic 666699 csisolatinhebrew 778888 abcdefghijklmnop 778899 csisolatincyrillic
788887 aaaabbbccdaabbb
"""

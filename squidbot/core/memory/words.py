"""English words for search: stems of words, and synonyms."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import NamedTuple

# Stems of English words; other languages lose little, as a query loses the same.

# Words of grammar.
_GRAMMAR = """
a about above after again all also am an and any anyone anything are as at be because been before being below between
both but by can cannot could did do does doing don done down during each either else ever every few for from further
get gets getting give given go goes going gone got had has have having he her here hers herself him himself his how
however i if in into is it its itself just let like made make makes making many may me might mine more most much must
my myself no nor not now of off on once one only or other others our ours out over own per please same shall she
should since so some somebody someone something still such take taken takes than that the their theirs them themselves
then there these they thing things this those through to too took under until up upon us use used using very was we
went were what whatever when where whether which while who whom whose why will with within without would yet you your
yours yourself ll ve re m s d t didn doesn isn wasn weren won wouldn couldn shouldn hasn haven hadn aren ain im ive id
ill youre dont tell told say says said know knew does recently currently usually according mention mentioned kind type
sort
"""
STOP_WORDS = frozenset(_GRAMMAR.split())

# Irregular forms, in each row after the stem.
_IRREGULAR = """
be was were been; become became; begin began begun; bite bit bitten; blow blew blown; break broke broken; bring
brought; build built; buy bought; catch caught; choose chose chosen; come came; deal dealt; dig dug; draw drew drawn;
dream dreamt; drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt; fight
fought; find found; flee fled; fly flew flown; forget forgot forgotten; forgive forgave forgiven; freeze froze frozen;
get got gotten; give gave given; go went gone goes; grow grew grown; hang hung; hear heard; hide hid hidden; hold
held; keep kept; know knew known; lay laid; lead led; leave left; lend lent; lie lain; light lit; lose lost; make
made; mean meant; meet met; pay paid; ride rode ridden; ring rang rung; rise rose risen; run ran; say said; see saw
seen; seek sought; sell sold; send sent; shake shook shaken; shine shone; shoot shot; show shown; sing sang sung; sink
sank sunk; sit sat; sleep slept; speak spoke spoken; spend spent; spin spun; stand stood; steal stole stolen; stick
stuck; strike struck; swear swore sworn; sweep swept; swim swam swum; take took taken; teach taught; tear tore torn;
tell told; think thought; throw threw thrown; understand understood; wake woke woken; wear wore worn; weave wove
woven; win won; write wrote written; child children; man men; woman women; person people; mouse mice; foot feet; tooth
teeth; goose geese; wife wives; knife knives; shelf shelves; half halves; wolf wolves; thief thieves; loaf loaves;
good better best; bad worse worst; far farther further; mom mum mother mommy mummy; dad father daddy; kid kids; tv
television; photo photos photograph photographs; bike bicycle; phone telephone; fridge refrigerator; exam examination;
gym gymnasium; math maths mathematics; ad advertisement; die died dying; lie lied lying; tie tied tying; color colour
colors colours colored coloured; favorite favourite favorites favourites; neighbor neighbour neighbors neighbours;
neighborhood neighbourhood; theater theatre theaters theatres; center centre; gray grey; behavior behaviour; jewelry
jewellery; program programme programmes
"""
_BASE_OF = {
    form: row.split()[0] for row in _IRREGULAR.replace("\n", " ").split(";") for form in row.split()[1:] if row.strip()
}
_VOWELS = frozenset("aeiouy")
# Suffixes of a family's words, longest first; at least four letters stay.
_FAMILY_ENDS = """
ization isation ational fulness iveness ousness ability ibility ations ation ition ments ement ment ness ible able
ance ence ancy ency ship hood less ical ist ism ize ise ify ive ous ful ion ity ial ian ant ent al er or ic ly en i y
"""
_FAMILY = tuple(_FAMILY_ENDS.split())
FAMILY_LETTERS = 4


@lru_cache(65_536)
def stem(word: str) -> str:
    """Return a word, in lower case, without its inflection."""
    word = _BASE_OF.get(word, word)
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    bare = _unconjugated(_singular(word))
    return _unended(_BASE_OF.get(bare, bare))


@lru_cache(65_536)
def root(stemmed: str) -> str:
    """Return the part that a stem shares with its family, the stem itself if it has no suffix."""
    if len(stemmed) <= FAMILY_LETTERS or not stemmed.isascii() or not stemmed.isalpha():
        return stemmed
    if not stemmed.endswith(_FAMILY):  # most, and at once
        return stemmed
    for ending in _FAMILY:
        if stemmed.endswith(ending) and len(stemmed) - len(ending) >= FAMILY_LETTERS:
            return _undoubled(stemmed[: -len(ending)])
    return stemmed


def _singular(word: str) -> str:
    if not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y" if len(word) > 4 else word[:-1]
    if word.endswith(("sses", "xes", "zes", "ches", "shes")):
        return word[:-2]
    return word[:-1]


def _unconjugated(word: str) -> str:
    if word.endswith("ied"):
        return word[:-3] + "y" if len(word) > 4 else word
    for ending in ("ing", "ed"):
        bare = word.removesuffix(ending)
        if bare != word and len(bare) > 1 and _has_vowel(bare) and not word.endswith("eed"):
            return _undoubled(bare)
    return word[:-2] if len(word) > 5 and word.endswith("ly") else word


def _unended(word: str) -> str:
    if len(word) <= 3:
        return word
    if word.endswith("e"):
        return word[:-1]
    return word[:-1] + "i" if word.endswith("y") and word[-2] not in _VOWELS else word


def _has_vowel(text: str) -> bool:
    return not _VOWELS.isdisjoint(text)


def _undoubled(text: str) -> str:
    return text[:-1] if len(text) > 3 and text[-1] == text[-2] and text[-1] not in "aeiouls" else text


# Synonyms: if a question has a word, an answer may have another of its row.

# How near: a subject and one of its words; two words of one subject.
SUBJECT = 0.45
FELLOW = 0.25

_ROWS = """
family: mother father parent sister brother sibling son daughter child kid baby husband wife spouse partner aunt uncle
cousin grandma grandmother grandpa grandfather grandparent niece nephew relative twin; child: kid son daughter baby
toddler teen boy girl little youth; parent: mother father mom dad; spouse: husband wife partner wedding marry marriage
fiance fiancee; wedding: marry marriage engaged engagement bride groom propose ceremony anniversary honeymoon vow;
relationship: date dating boyfriend girlfriend partner couple single married love breakup divorce relation; status:
single married divorced engaged employed student retired; friend: buddy pal mate companion friendship roommate
neighbor neighbour colleague; pet: dog cat puppy kitten bird parrot fish hamster rabbit bunny turtle guinea pig horse
lizard snake adopt vet leash breed; dog: puppy pup retriever shepherd labrador poodle terrier bulldog walk leash pet
breed; cat: kitten kitty feline pet; animal: wildlife bird deer bear fox horse elephant lion zoo pet creature species
whale dolphin; name: call named nickname title; job: work career profession occupation employer company position role
employ hire boss office promote promotion business interview resume employee salary gig internship; career: job
profession path goal ambition field industry occupation work; occupation: job profession career doctor nurse teacher
engineer lawyer artist writer chef developer designer manager; business: company startup store shop firm owner
entrepreneur customer client venture launch studio brand market product sale; work: job office project task shift
career colleague; colleague: coworker teammate boss manager team; quit: resign leave lose layoff fired; study: school
college university class course degree exam student learn research major graduate lecture homework; education: school
college university degree study class course graduate diploma certificate training program major; school: class
teacher student college university grade campus education kindergarten; degree: bachelor master phd graduate diploma
university college major; learn: study class lesson teach course practice tutorial workshop skill train; skill:
ability talent learn practice technique; teach: teacher lesson class instructor tutor coach mentor workshop educate;
field: area subject domain discipline industry; book: novel read author story literature chapter series library
fiction memoir biography bookstore poem fantasy page; read: book novel article story reader; write: writer author
novel poem poetry script screenplay journal blog story essay article draft publish; author: writer novelist book poet;
story: tale novel narrative plot script book; film: movie cinema director actor actress scene screen watch documentary
series show; movie: film cinema screen watch theater theatre comedy drama thriller actor director; show: series tv
episode season watch program; watch: see view movie film show; music: song band album concert sing guitar piano violin
drum instrument musician jazz rock classical tune playlist melody composer genre orchestra vinyl; song: music tune
track lyric melody sing singer; instrument: guitar piano violin drum clarinet flute saxophone cello trumpet keyboard
ukulele bass harp banjo; band: group musician concert album singer orchestra; concert: show gig festival perform
performance band stage live tour; musician: singer band artist composer pianist guitarist drummer rapper; art: paint
draw sculpture gallery artist museum craft canvas exhibit portrait sketch mural pottery watercolor photography; paint:
painting draw canvas art brush watercolor portrait landscape mural sketch color; artist: painter musician sculptor
singer photographer designer; craft: pottery knit sew crochet woodwork handmade diy clay quilt carve; pottery: clay
bowl cup mug vase ceramic pot; photo: picture camera photography photograph shot image snap lens selfie; dance: dancer
ballet salsa choreography studio hip-hop contemporary tango recital; perform: performance stage show play theater
audience; hobby: activity pastime interest enjoy fun paint read garden hike game cook photography knit collect fish
dance sport play; activity: hobby event fun game sport hike camp swim paint run trip class workshop exercise play
outing; interest: hobby passion like love enjoy fan into; enjoy: love like fun fond passion; favorite: favourite love
best prefer fan beloved adore; like: love enjoy prefer favorite fan adore; dislike: hate despise avoid annoying annoy;
relax: unwind calm rest stress peace chill meditate yoga bath spa soothe therapeutic; stress: anxiety pressure
overwhelm tense burnout worry relax; sport: game team football soccer basketball baseball tennis hockey golf swim run
athlete league match season coach cricket volleyball surf ski climb rugby marathon boxing; team: club league squad
player coach; player: athlete star; game: play video console board chess card match tournament gamer xbox playstation
nintendo puzzle esports; tournament: competition contest championship match cup win compete league; compete:
competition contest race tournament match event; win: award prize victory champion trophy first medal; award: prize
trophy medal win honor recognition scholarship; exercise: workout gym run yoga fitness swim bike cycle lift weight jog
walk hike train pilates cardio stretch; fitness: exercise gym workout health; run: marathon race jog 5k; bike: cycle
ride bicycle; outdoor: hike camp nature trail mountain beach park fish kayak climb forest garden picnic; hike: trail
mountain walk trek nature summit outdoors; camp: tent campfire campground outdoors hike forest; nature: forest
mountain outdoors tree river lake wildlife beach park ocean sunset waterfall; beach: ocean sea sand wave coast surf
shore; water: sea ocean lake river swim; garden: plant flower grow vegetable tomato seed yard soil; plant: flower tree
garden seed succulent; trip: travel vacation journey visit flight tour abroad holiday cruise getaway; travel: trip
visit vacation journey tour fly flight abroad explore tourist country city destination backpack; vacation: trip travel
holiday getaway resort; visit: trip travel tour see; country: nation abroad state france italy spain germany england
japan china india canada mexico australia brazil greece ireland sweden turkey kenya; city: town state downtown london
paris rome tokyo berlin york boston chicago seattle austin miami denver toronto; place: location spot city town park
area site; state: california texas florida oregon washington colorado michigan nevada; live: home house apartment
reside move stay settle; move: relocate relocation moving new house apartment home; home: house apartment room rent
mortgage condo cottage neighborhood; house: home apartment property mortgage; origin: from hometown roots native born
immigrant; food: eat meal dish recipe cook bake dinner lunch breakfast restaurant taste cuisine snack dessert pizza
pasta salad chicken soup sandwich vegetable fruit cheese rice; cook: recipe meal bake dish kitchen chef food dinner
ingredient roast grill; recipe: ingredient bake cook dish sauce; dish: meal recipe food plate cuisine; meal: dinner
lunch breakfast food dish eat; bake: cake cookie bread pie muffin pastry dessert oven; dessert: cake cookie pie ice
cream chocolate sweet pastry tart brownie; drink: coffee tea beer wine juice soda cocktail water smoothie; restaurant:
dinner eat cafe diner food menu; diet: eat healthy vegan vegetarian food calorie nutrition gluten sugar; allergy:
allergic intolerant sensitive reaction; health: doctor hospital sick illness pain medical disease diagnose surgery
fitness medicine weight diet injury therapy; illness: sick disease flu cold fever diagnose cancer diabetes hospital;
doctor: hospital checkup physician clinic nurse appointment diagnose dentist; injury: hurt broke sprain accident ankle
hospital pain wound fracture knee; hurt: injury pain wound; accident: crash hurt injury hit collide; symptom: pain
fever headache cough tired nausea; mental: therapy anxiety depression counseling therapist psychology emotional;
therapy: counseling therapist counselor mental psychologist; sleep: insomnia bed nap tired rest; car: vehicle drive
truck suv auto garage engine prius license jeep van; vehicle: car truck bike motorcycle van; drive: car road license;
repair: fix restore broken mechanic maintenance; buy: purchase shop get new order pay bought store own; sell: sale
sold store shop; shop: store mall market buy; item: object thing collect collection piece memorabilia; collect:
collection collector memorabilia; gift: present give receive surprise birthday; money: pay cost price dollar save
budget income loan debt invest fund financial salary rent finance afford; cost: price pay dollar expensive cheap
spend; finance: money financial bank loan invest fund debt; donate: donation charity fundraiser give raise; charity:
donate volunteer fundraiser nonprofit shelter cause foundation; volunteer: charity shelter community help nonprofit
service homeless outreach; help: support assist aid volunteer; support: encourage help community backing; community:
group neighborhood local volunteer club; group: club community team organization meetup circle; event: party festival
conference concert parade workshop fair meeting ceremony gathering fundraiser celebration exhibition; attend: go join
participate visit; join: sign member enroll participate become; participate: join attend take part compete; party:
celebrate birthday celebration gathering reunion; celebrate: birthday party anniversary holiday christmas thanksgiving
halloween festival; birthday: party celebrate turn age cake; age: old birthday year born; holiday: christmas
thanksgiving easter halloween vacation hanukkah; plan: going goal intend schedule upcoming idea; goal: dream aim hope
ambition plan aspire target achieve; dream: hope wish goal aspire; decide: choose decision pick chose; start: begin
launch open new first; stop: quit end finish give; finish: complete end done; create: make build design develop
invent; build: construct make create; change: transform transition new different; problem: issue trouble challenge
difficulty error bug setback obstacle; success: achieve accomplish milestone win proud; achieve: accomplish success
goal milestone complete; lose: loss lost died missing; death: die died pass loss grief funeral passed mourn; die:
death pass lost gone; feel: emotion happy sad proud excited mood grateful scared; emotion: feeling happy sad angry joy
fear grateful proud; happy: glad joy excited delighted thrilled cheer; sad: upset down depressed cry heartbroken;
afraid: fear scared scary frighten nervous; angry: mad upset frustrated annoyed; proud: accomplish honor; excited:
thrilled stoked pumped eager psyched; inspire: motivate motivation inspiration influence role; motivate: inspire drive
motivation; personality: trait kind caring thoughtful shy outgoing honest brave; trait: personality attribute
characteristic; belief: religion faith church god spiritual pray value; religion: church faith christian muslim jewish
buddhist pray god; politics: political election vote party government liberal conservative policy campaign;
government: political law policy mayor council; rights: equality justice law protest activism advocate; identity:
gender transgender gay lesbian queer lgbtq; military: army navy soldier veteran war serve; weather: rain sun snow
storm hot cold wind sunny temperature; disaster: flood fire storm earthquake hurricane tornado; color: colour red blue
green yellow purple pink black white orange brown; size: big small large tall huge; clothes: shirt dress shoe jacket
hat wear jeans outfit fashion sneaker sweater necklace; fashion: clothes style design dress trend; jewelry: necklace
ring bracelet earring pendant; shoe: boot sneaker footwear; furniture: table chair couch sofa desk bed shelf;
computer: laptop pc software hardware code program desktop gpu; software: app code program computer developer tool;
program: code software app python java; code: program software function repository script bug commit; language:
spanish french german english japanese chinese italian python java korean; database: sqlite postgres mysql sql table
query schema migration; server: host deploy cloud machine container docker; deploy: release ship production rollout
server staging rollback; test: pytest check suite coverage ci fixture assertion; bug: error fix crash issue failure
regression; error: exception fail failure bug crash traceback timeout; file: folder directory path document script;
repository: git commit branch merge clone fork; branch: merge commit pull review rebase; config: setting option
configuration environment variable; dependency: package library version upgrade install; endpoint: api url route
request response; permission: access role token password key secret; log: trace message output monitor metric; slow:
performance latency timeout cache memory; version: release upgrade update; device: phone laptop tablet gadget computer
watch headphone camera; phone: call mobile iphone android text; internet: online web site website social; social:
instagram facebook twitter media online post; account: login password user profile; email: mail message send inbox;
website: site online web page blog; video: youtube film clip stream channel record vlog; stream: twitch youtube video
live; meet: meeting met encounter introduce; meeting: call conference appointment agenda; talk: speak speech chat
discuss conversation call; speech: talk speak present audience; discuss: talk chat debate; advice: suggest recommend
tip suggestion guidance; recommend: suggest suggestion recommendation advice; give: gave gift hand offer; time: hour
minute day week month year often long; often: frequency times week daily weekly regularly; duration: long hour week
month year; remember: memory remind; memory: remember childhood nostalgic; pregnant: baby expecting birth born due;
born: birth birthday; address: street live home
"""


class Synonym(NamedTuple):
    """A synonym: its stem, how near it is (above 0, below 1), and the word."""

    stem: str
    near: float
    word: str


def synonyms(stemmed: str) -> tuple[Synonym, ...]:
    """Return the synonyms of a stem; none if it stands in no row."""
    return _table().get(stemmed, ())


@cache
def _table() -> dict[str, tuple[Synonym, ...]]:
    near: dict[str, dict[str, float]] = {}
    words: dict[str, str] = {}
    for row in _ROWS.replace("\n", " ").split(";"):
        subject, _, rest = row.strip().partition(":")
        for word in (subject, *rest.split()):
            words.setdefault(stem(word), word)
        head = stem(subject)
        fellows = [fellow for fellow in dict.fromkeys(map(stem, rest.split())) if fellow != head]
        for fellow in fellows:
            near.setdefault(head, {})[fellow] = SUBJECT
            near.setdefault(fellow, {})[head] = SUBJECT
            for other in fellows:
                if other != fellow:
                    near[fellow].setdefault(other, FELLOW)
    return {
        word: tuple(Synonym(other, value, words[other]) for other, value in others.items())
        for word, others in near.items()
    }

"""The rules of English."""

_ADV = (
    r"(?:(?:really|also|still|usually|generally|actually|currently|now|personally|much|mostly|strongly|definitely|truly|just|do|"
    r"absolutely|mainly|typically|only|simply|finally|recently|already|always|totally|especially|kinda|both) ){0,3}"
)
_I, _AM, _HAVE = rf"i {_ADV}", rf"(?:i'm|im|i am) {_ADV}", rf"(?:i've|i have|i) {_ADV}"
_WE = rf"(?:we|our (?:team|project|company|app|stack)|(?:the|this) (?:project|team|repo|codebase|app)) {_ADV}"
_LAST = r"(?:any ?more|any longer)"
_NO_LONGER = rf"(?:i no longer|i (?:don't|do not)(?=.* {_LAST}))"
_TALK = r"(?:answer|reply|respond|write|speak|talk)(?: to me)? (?:only )?in (?P<x>(?-i:[A-Z])\w+.*)"
_FROM_NOW = r"(?:from now on|in (?:the )?future|going forward),?"
_CLOSE = (
    r"(?:wife|husband|spouse|partner|girlfriend|boyfriend|fianc[eé]+|boss|manager|mother|mom|mum|father|dad|landlord|doctor|"
    r"dentist|therapist|team lead|assistant|accountant|lawyer|mentor|coach|editor)"
)
_STATE = (
    r"(?!(?:not|too|very|still|already|currently|being|broken|down|slow|wrong|missing|empty|full|ready|fine|good|bad|great|ok|okay|"
    r"un\w+|hard|easy|done|gone|dead|behind|ahead|up|out|off|on fire|green|red|stuck|\w+ing|fixed|merged|stale|correct|an? (?:mess|"
    r"problem|pain|bit|mystery|lot)|supposed|due)\b)(?P<x>\S+(?: \S+){0,5})"
)
# Verbs of what is asked of an assistant: people advise each other to "always be yourself", too.
_ORDERS = (
    r"(?:answer|reply|respond|write|use|ask|call|run|add|include|show|explain|format|commit|push|deploy|test|keep|tell|give(?! up)|"
    r"mention|put|make|translate|speak|suggest|summari[sz]e|quote|touch|delete|remove|edit|change|modify|install|send|assume|address|"
    r"check|apologi[sz]e|sign|create|merge|rebase|squash|cite|say|greet|provide|confirm|highlight)"
)
# Verbs that tell of a feeling, a wish or a passing state, and no deed.
_VAGUE = (
    r"(?:wan\w+|need|hope|think|know|wonder|guess|feel|felt|mean|said|say|see|saw|understand|was|were|are|am|been|had to|can|will|"
    r"should|must|don't|didn't|won't|haven't|couldn't|can't|never|did|tried|not|totally|agree|love|miss|get|keep|a|so|look)\b"
)
_ARTICLE = r"(?:the|to|for|an?|some|my|our|all|that|it)\b"
# A day, a share, an amount; and a number, or a name within a clause: what has them is worth keeping.
_DAY = r"(?:\b(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)\w* \d|\b\d[\d,.]* ?%|[$£€]\d)"
_GIVEN = (
    r"(?:(?=(?:\S+ ){4}).*\d|.*[^,] (?-i:[A-Z])[^\W\d_]+ |.* (?:in|at|with|to|called|from) (?-i:[A-Z])[^\W\d_]+\Z).*"
)

# "The book" is one that others know: what it is about stands elsewhere.
_NEAR = (
    r"(?!.*\bthe (?!world|internet|deadline|gym|beach|ocean|sea|mountains|outdoors|city|country(?:side)?|piano|guitar|drums|violin|us|"
    r"uk|usa|netherlands|army|mornings?|evenings?|weekends?|week|day|night|summer|winter|spring|fall)[a-z]+(?:\Z| (?:and|or|in|on|at|to|"
    r"with|from|by|as|after|before|when|while|is|was|are|has|had|i|together|more|better)\b))"
)

RULES = rf"""
doubt | \b(?:if|unless|whether|would|could|might|maybe|perhaps|probably|wish|hope|hopefully|hoping|guess|assuming|in case|for (?:example|instance)|
 e\.g|used to|as though|supposedly|apparently|i (?:think|thought|believe|suppose|heard|bet|swear)|not sure|unsure|do you|the user|the user's|
 when i was|someday|one day|i'd|i'll|kidding|joking|lol|almost|seems?|like crazy|to death|pretend|imagine|can't wait|(?:friends?|brother|sister|
 boss|colleague|everyone|people|some(?:one|body)|he|she|they|who|it|(?-i:[A-Z][a-z]+)) (?:just |also |once |always |has |had )?(?:sa(?:id|ys?)|
 wrote|writes?|told|tells|claim(?:s|ed)?|thinks?|thought|asked|asks|believes?|mentioned|replied|insists?)|today|tonight|tomorrow|yesterday|
 right now|at the moment|(?:this|last|next|past) (?:time|morning|afternoon|evening|week|weekend|month|year|summer|night|\w+day)|for now|temporarily|
 until|in a (?:minute|moment|while|bit)|for a (?:few|while|week|bit)|ago|the other day|soon|lately|its?|it's|this|these|those|them|they|they're|
 their|he|she|his|her|him|here|there|such|ones?|another|you|yours?|yourself|you're|you've|either|neither|(?<!for )everything|something|anything|
 nothing|stuff|things?|so far|same|others|above(?! \d)|below(?! \d)|following|previous|latter|former|instead|that's|else|that(?! (?:i|my|we|our|is|
 are|was|were|has|have|can|the|an?|\w{{3,}}s|\w+ed)\b)|the other)(?!\w)
language | (?:{_FROM_NOW} (?:please )?(?:always )?|always ){_TALK}
called | (?:(?:you can |from now on,? )*call me|(?:my friends|people|every(?:one|body)) calls? me|i go by|i(?:'m| am) called) (?P<x>.+)
order | (?:always|never|(?:don't|do not) ever) (?P<x>{_ORDERS}\b.+|.+ when(?:ever)? i (?:ask|talk|mention)\b.+)
order | (?:{_FROM_NOW} (?:please )?|i(?:'d like| want) you to (?=always|never|only))(?P<x>(?:{_ORDERS}|don't|do not|never|always|no)\b.+)
own name | (?:your name is|i(?:'ll| will) call you|you are called) (?:now )?(?P<x>.+)
name | my (?:full |first |real )?name(?: is|'s) (?P<x>.+)
past home | {_NO_LONGER} live in (?P<x>.+?)(?: {_LAST})?
home | (?:{_I}(?:live|reside)|{_AM}(?:based|living|located))(?: alone)? (?:in|near) (?P<x>.+)
moved | {_HAVE}(?:moved|relocated) (?:back )?to (?P<x>(?:the )?[\w'\-]+(?:,? (?-i:[A-Z])[\w'\-]+){{0,3}})(?: (?:from|last|in|this|two|three|a|with|
 for|about|when|\d).*)?
past employer | (?:{_NO_LONGER} work|i(?:'ve| have)? stopped working) (?:at|for) (?P<x>.+?)(?: {_LAST})?
employer | (?:{_I}work|{_AM}(?:employed|working)) (?:at|for) (?!night|home|least|times|all|now|hours)(?P<x>.+)
joined | {_HAVE}(?:joined|started(?: working)? at|got a job at) (?P<x>.+)
age | {_AM}(?P<x>[1-9]\d|1[01]\d)(?: years? old)?
being | i(?:'m| am) (?P<x>(?-i:[A-Z])[^\W\d_]+)(?:,? (?:an? )?.*\d.*|, an? .+)?
birthday | (?:my (?:birthday|date of birth|birth date) is|i was born) (?:on |in )?(?P<x>.+)
relation | my (?P<y>{_CLOSE})(?:'s name is| is(?: called| named)?) (?P<x>(?-i:[A-Z])\w+(?: (?-i:[A-Z])\w+)?)
kin | my (?P<y>(?:best )?\w+)(?:'s name is| is (?:called|named)) (?P<x>.+)
attribute | my (?P<y>time ?zone|pronouns|nationality|native language|job title|home ?town|operating system|os|editor|shell|job|profession|(?:main|
 long-term|biggest)? ?(?:goal|dream|aim)(?: this year)?) is (?:now )?{_STATE}.*
attribute | my (?:all-time )?(?P<y>favou?rite [\w\-]+(?: [\w\-]+){{0,2}}) (?:is|are) (?:now )?(?!when)(?P<x>.+)
about | (?:{_AM}(?:originally )?from|{_I}come from|i was born in|i grew up in) (?:(?-i:[A-Z])\D+)|(?:{_I}work|{_AM}(?:employed|working)) as .+|
 {_AM}(?:(?:allergic to (?!\w+ing|mondays|mornings|work|people|drama|small talk)|intolerant to |married to ).+|\w+-? ?blind|(?:an? )?(?:vegan|
 vegetarian|pescatarian)|diabetic|dyslexic|deaf|left-handed|(?:lactose|gluten)[- ]intolerant|married|divorced|retired|autistic|single)|
 {_AM}(?:an? (?!(?:bit|little|lot|few|couple|huge|big|idiot|fool|fan\Z|loss|mess|mix|hurry|rush|meeting|call|bad|good|great|total|complete|new|user|
 sucker|work in|\w+ (?:person|one|mood|position|situation|spot|place))\b)[^,]+)|{_I}(?:speak (?:fluent )?(?-i:[A-Z]).+|(?:have|
 suffer from) (?:diabetes|asthma|adhd|epilepsy|hay fever|migraines|insomnia))|(?:{_I}have|i've got) (?:(?:an?|one|two|three|four|five|six|
 \d) (?:[\w\-]+ ){{0,2}}(?:dogs?|cats?|kids?|child(?:ren)?|sons?|wife|daughters?|brothers?|sisters?|husband|twins|horses?|rabbits?|grandchildren|
 allerg(?:y|ies)|degree|phd)\b.*)
preference | {_NEAR}{_I}prefer (?P<x>(?!to ).+?) (?:over|to|instead of|rather than) (?P<y>.+)
preference | {_NEAR}{_I}prefer (?P<x>.+?)(?: (?:over|instead of|rather than) (?P<y>.+))?
liking | {_NEAR}(?:{_I}(?:hate|dislike|can't stand|cannot stand|detest|loathe|(?:don't|do not) (?:really )?(?:like|enjoy))|
 {_AM}(?:not a (?:big )?fan of|not into)|{_I}(?:like|love|enjoy|adore)|{_AM}(?:an? (?:big |huge )?fan of|fond of|into|passionate about)) (?!how|
 what|when|that |(?:all )?the (?!\w+\Z)|(?:all|the thought)\b|to (?:know|see|say|ask|hear|think|believe|point))(?P<x>.+)
change | (?:{_NO_LONGER} use|i(?:'ve| have)? (?:stopped|quit) using) (?P<x>.+?)(?: {_LAST})?
change | {_HAVE}(?:switched|migrated|changed|moved) (?:over )?from (?P<y>.+?) to (?P<x>.+)
habit | {_NEAR}i (?:almost )?(?:always|never|usually|often|don't|do not) (?P<x>(?:use|eat|drink|own|smoke|watch|work|write|run|commit|travel|take|
 wear|read|sleep|wake|cook|drive|go|play|listen|walk|ride|train|study|speak|swim) (?!.*{_LAST}).+)
habit | {_NEAR}{_I}(?P<x>(?!{_VAGUE})[a-z]+ .*\b(?:every|each|(?:once|twice|times) a|per) (?:day|week|month|year|morning|night|weekend|\w+day)\b.*)
tool | {_I}use (?!{_ARTICLE})(?P<x>.+)
concern | {_NEAR}(?:{_AM}(?:(?:learning|studying|training for|preparing for|saving for|recovering from|planning (?:an?|my|our|to|on)|working (?:on|
 towards)|writing|building|developing|teaching) (?!how\b|for\b|(?:a )?(?:few|ton|lot|bit|couple)\b|so\b|new \w+\Z|lots\b|out\b|hard\b).+)|i(?:'ve|
  have) {_ADV}been (?:(?!(?:think|feel|look|wonder|try|hav|gett|go|do|see|hear|wait|mean|dy|be|consider|struggl|mak|deal|keep)ing)\w+ing (?!a lot|
 as usual|more \w+\Z)\S+ \S.+))
role | (?:{_WE}|we're |we are )(?:uses?|using) (?P<x>(?!{_ARTICLE}).+?) (?:for|as) (?P<y>.+)
project | {_WE}(?:have |has )?(?:switched|migrated|moved) (?:over )?from (?P<y>.+?) to (?P<x>.+)
project | (?:{_WE}|we're |we are )(?:uses?|using) (?!{_ARTICLE})(?P<x>.+)
thing | (?:the|our) (?P<y>(?:(?!at|of|in|on|for|from|with|is\b)[\w\-]+ ){{0,3}}?(?:branch|database|repo|repository|framework|language|port|server|
 host|url|endpoint|command|script|region|bucket|cluster|licen[cs]e|formatter|linter|domain|registry|budget|version|convention|backend|frontend|
 queue|cache|editor|platform|code ?name|date|stack|folder)) is (?:now )?(?:called )?{_STATE}
team | {_WE}(?P<x>(?:deploy|release|ship|host|publish|merge) (?:to|on|from|with|every|via|by) .+)
decision | (?:we(?:'ve| have)? (?:now )?(?:decided|agreed|settled)|the decision is|{_NEAR}i(?:'ve| have)? (?:now )?(?:decided|chosen|
 chose)) (?:(?:to|on|that|against|not to) \S+ .+)|let's (?:go|stick) with (?!{_ARTICLE}).+
detail | {_NEAR}(?:(?:my|our|the) deadline is (?:now )?(?:on )?(?:.*\d.*)|(?:{_AM}|i was )(?:(?:\w+ing|(?:worried|stressed|nervous|excited) about|
 proud of)\b.*{_DAY}.*)|(?:{_HAVE}|we(?:'ve| have)? {_ADV})(?:(?!{_VAGUE})[a-z]+ {_GIVEN})|i(?:'ve| have) never (?:(?!seen|felt|heard|thought|
 been so)\w+ .+ .+)|(?:my (?:[a-z]+ ){{1,2}}(?-i:[A-Z])\w+ \w+ .+)|(?:(?=(?:\S+ ){{5}})(?:my|our) (?:[\w'\-]+ ){{2,6}}(?:is|are|was|has|have|had|
 reached|improved|increased|dropped|grew|starts?|ends?|begins?|costs?|includes?|takes?)\b.*\d.*)|(?:the (?:[\w'\-]+ ){{1,6}}(?:ends|starts|begins|
 is due|is on|takes place|is scheduled|was extended|was moved)\b.*{_DAY}.*)|(?:(?:i|i'm|i've|my|we|our)\b.*, which (?:\w+ )?(?:has|have|is|was|were|
 had)\b.*\d.*))
"""

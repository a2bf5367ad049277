"""The rules of English."""

RULES = r"""
ADV | (?:(?:really|also|still|usually|generally|actually|currently|now|personally|much|mostly|strongly|definitely|truly|just|do|absolutely|mainly|
 typically|only|simply|finally|recently|already|always|totally|especially|kinda|both) |(?!)){0,3}+
I | i <ADV>
AM | (?:i'm|im|i am) <ADV>
HAVE | (?:i've|i have|i) <ADV>
WE | (?:we|our (?:team|project|company|app|stack)|(?:the|this) (?:project|team|repo|codebase|app)) <ADV>
LAST | (?:any ?more|any longer)
NO_LONGER | (?:i no longer|i (?:don't|do not)(?=.* <LAST>))
TALK | (?:answer|reply|respond|write|speak|talk)(?: to me)? (?:only )?in (?P<x>(?-i:[A-Z])\w+.*)
FROM_NOW | (?:from now on|in (?:the )?future|going forward),?
STATE | (?!(?:not|too|very|still|already|currently|being|broken|down|slow|wrong|missing|empty|full|ready|fine|good|bad|great|ok|okay|un\w+|hard|
 easy|done|gone|dead|behind|ahead|up|out|off|on fire|green|red|stuck|\w+ing|fixed|merged|stale|correct|an? (?:mess|problem|pain|bit|mystery|lot)|
 supposed|due)\b)(?P<x>\S+(?: \S+){0,5})
ORDERS | (?:answer|reply|respond|write|use|ask|call|run|add|include|show|explain|format|commit|push|deploy|test|keep|tell|give(?! up)|mention|make|
 translate|speak|suggest|summari[sz]e|quote|delete|remove|edit|change|modify|send|address|check|sign|create|merge|cite|say|provide|confirm)
VAGUE | (?:wan\w+|need|hope|think|know|wonder|guess|feel|felt|mean|said|say|see|saw|understand|was|were|are|am|been|had to|can|will|should|must|
 don't|didn't|won't|haven't|couldn't|can't|never|did|made some|met (?:on|at|in)|compromised|went with|used (?:on|at|in)|chose \d+|have (?:an?|two|
 three|\d+) (?:\w+ )?(?:triangles?|circles?|matrix|lists?|arrays?|functions?|strings?|numbers?|deck)\b|have an? deadline of \w+ \d+\Z|tried|not|
 totally|agree|love|miss|get|keep|a|so|look)\b
ARTICLE | (?:the|to|for|an?|some|my|our|all|that|it)\b
MONTH | (?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)\w* \d
DAY | (?:\b<MONTH>|\b\d[\d,.]* ?%|[$£€]\d)
GIVEN | (?:(?=(?:\S+ ){4}).*\d|.*[^,] (?!<MONTH>)(?-i:[A-Z])[^\W\d_]+ |.* (?:in|at|with|to|called|from) (?-i:[A-Z])[^\W\d_]+\Z).*
NEAR | (?!.*\bthe (?:<MONTH>\d* \w+\Z|(?!world|internet|gym|beach|ocean|sea|mountains|outdoors|city|country(?:side)?|piano|guitar|drums|violin|us|
 uk|usa|netherlands|army|mornings?|evenings?|weekends?|week|day|night|summer|winter|spring|fall)[a-z]+(?:\Z| (?:and|or|in|on|at|to|with|from|by|as|
 after|before|when|while|is|was|are|has|had|i|together|more|better)\b)))
doubt | \b(?:if|unless|whether|would|could|might|maybe|perhaps|probably|wish|hope|hopefully|hoping|guess|assuming|in case|for (?:example|instance)|
 e\.g|used to|as though|supposedly|apparently|i (?:think|thought|believe|suppose|heard|bet|swear)|not sure|unsure|do you|the user|the user's|
 when i was|someday|one day|i'd|i'll|kidding|joking|lol|almost|seems?|like crazy|to death|pretend|imagine|can't wait|(?:friends?|brother|sister|
 boss|colleague|everyone|people|some(?:one|body)|he|she|they|who|it|(?-i:[A-Z][a-z]+)) (?:just |also |once |always |has |had )?(?:sa(?:id|ys?)|
 wrote|writes?|told|tells|claim(?:s|ed)?|thinks?|thought|asked|asks|believes?|mentioned|replied|insists?)|today|tonight|tomorrow|yesterday|
 right now|at the moment|(?:this|last|next|past) (?:time|morning|afternoon|evening|week|weekend|month|year|summer|night|\w+day)|for now|temporarily|
 until|in a (?:minute|moment|while|bit)|for a (?:few|while|week|bit)|ago|the other day|soon|lately|its?|it's|this|these|those|them|they|they're|
 their|he|she|his|her|him|here|there|such|ones?|another|you|yours?|yourself|you're|you've|either|neither|(?<!for )everything|something|anything|
 nothing|stuff|things?|same|others|above(?! \d)|below(?! \d)|following|previous|latter|former|instead|that's|else|that(?! (?:i|my|we|our|is|are|was|
 were|has|have|can|the|an?|\w{3,}s|\w+ed)\b)|the other)(?!\w)
language | (?:<FROM_NOW> (?:please )?(?:always )?|always )<TALK>
called | (?:(?:you can |from now on,? )*call me|(?:my friends|people|every(?:one|body)) calls? me|i go by|i(?:'m| am) called) (?P<x>.+)
order | (?:always|never|(?:don't|do not) ever) (?P<x><ORDERS>\b.+|.+ when(?:ever)? i (?:ask|talk|mention)\b.+)
order | (?:<FROM_NOW> (?:please )?|i(?:'d like| want) you to (?=always|never|only))(?P<x>(?:<ORDERS>|don't|do not|never|always|no)\b.+)
own name | (?:your name is|i(?:'ll| will) call you|you are called) (?:now )?(?P<x>.+)
name | my (?:full |first |real )?name(?: is|'s) (?P<x>.+)
past home | <NO_LONGER> live in (?P<x>.+?)(?: <LAST>)?
home | (?:<I>(?:live|reside)|<AM>(?:based|living|located))(?: alone)? (?:in|near) (?P<x>.+)
moved | <HAVE>(?:moved|relocated) (?:back )?to (?P<x>(?:the )?[\w'\-]+(?:,? (?-i:[A-Z])[\w'\-]+){0,3})(?: (?:from|last|in|this|a|with|when|\d).*)?
past employer | (?:<NO_LONGER> work|i(?:'ve| have)? stopped working) (?:at|for) (?P<x>.+?)(?: <LAST>)?
employer | (?:<I>work|<AM>(?:employed|working)) (?:at|for) (?!night|home|least|times|all|now|hours)(?P<x>.+)
joined | <HAVE>(?:joined|started(?: working)? at|got a job at) (?P<x>.+)
age | <AM>(?P<x>[1-9]\d|1[01]\d)(?: years? old)?
attribute | my (?P<y>time ?zone|pronouns|nationality|native language|job title|home ?town|operating system|os|editor|shell|job|profession|(?:main|
 long-term|biggest)? ?(?:goal|dream|aim)(?: this year)?) is (?:now )?<STATE>.*
attribute | my (?:all-time )?(?P<y>favou?rite [\w\-]+(?: [\w\-]+){0,2}) (?:is|are) (?:now )?(?!when)(?P<x>.+)
kin | my (?P<y>(?:\w+ )?\w+)(?:'s name is| is (?:called|named)| is(?= (?-i:[A-Z])\w+(?: (?-i:[A-Z])\w+)?\Z)) (?P<x>.+)
about | <NEAR>(?:i(?:'m| am) (?:(?-i:[A-Z])[^\W\d_]+)(?:,? (?:an? )?.*\d.*|, an? .+)?|(?:my (?:birthday|date of birth|birth date) is|
 i was born) (?:on |in )?.*\d.*|(?:<AM>(?:originally )?from|<I>come from|i was born in|i grew up in) (?:(?-i:[A-Z])\D+)|(?:<I>work|<AM>(?:employed|
 working)) as .+|<AM>(?:(?:allergic to (?!\w+ing|mondays|mornings|work|people|drama|small talk)|intolerant to |married to ).+|\w+-? ?blind|
 (?:an? )?(?:vegan|vegetarian|pescatarian)|diabetic|dyslexic|deaf|left-handed|(?:lactose|gluten)[- ]intolerant|married|divorced|retired|autistic|
 single)|<AM>(?:an? (?!(?:bit|little|lot|few|couple|huge|big|idiot|fool|fan\Z|loss|mess|mix|hurry|rush|meeting|call|bad|good|great|total|complete|
 new|user|sucker|work in|\w+ (?:person|one|mood|position|situation|spot|place))\b)[^,]+)|<I>(?:speak (?:fluent )?(?-i:[A-Z]).+|(?:have|
 suffer from) (?:diabetes|asthma|adhd|epilepsy|hay fever|migraines|insomnia))|(?:<I>have|i've got) (?:(?:an?|one|two|three|four|five|six|
 \d) (?:[\w\-]+ ){0,2}(?:dogs?|cats?|kids?|child(?:ren)?|sons?|wife|daughters?|brothers?|sisters?|husband|twins|grandchildren|allerg(?:y|ies)|
 degree)\b.*))
preference | <NEAR><I>prefer (?P<x>(?!to ).+?) (?:over|to|instead of|rather than) (?P<y>.+)
preference | <NEAR><I>prefer (?P<x>.+?)(?: (?:over|instead of|rather than) (?P<y>.+))?
liking | <NEAR>(?:<I>(?:hate|dislike|can't stand|cannot stand|detest|loathe|(?:don't|do not) (?:really )?(?:like|enjoy))|
 <AM>(?:not a (?:big )?fan of|not into)|<I>(?:like|love|enjoy|adore)|<AM>(?:an? (?:big |huge )?fan of|fond of|into|passionate about)) (?!how|what|
 when|that |(?:all )?the (?!\w+\Z)|(?:all|the thought)\b|to (?:know|see|say|ask|hear|think|believe|point))(?P<x>.+)
change | (?:<NO_LONGER> use|i(?:'ve| have)? (?:stopped|quit) using) (?P<x>.+?)(?: <LAST>)?
change | <HAVE>(?:switched|migrated|changed|moved) (?:over )?from (?P<y>.+?) to (?P<x>.+)
habit | <NEAR>i (?:almost )?(?:always|never|usually|often|don't|do not) (?P<x>(?:use|eat|drink|own|smoke|watch|work|write|run|commit|travel|take|
 wear|read|sleep|wake|cook|drive|go|play|listen|walk|ride|train|study|speak|swim) (?!.*<LAST>).+)
habit | <NEAR><I>(?P<x>(?!<VAGUE>)[a-z]+ .*\b(?:every|each|(?:once|twice|times) a|per) (?:day|week|month|year|morning|night|weekend|\w+day)\b.*)
tool | <I>use (?!<ARTICLE>)(?P<x>.+)
concern | <NEAR>(?:<AM>(?:(?:learning|studying|training for|preparing for|saving for|recovering from|planning (?:an?|my|our|to|on)|working (?:on|
 towards)|writing|building|developing|teaching) (?!how\b|for\b|(?:a )?(?:few|ton|lot|bit|couple)\b|so\b|new \w+\Z|(?:an? |my )?(?:new )?project\Z|
 lots\b|out\b|hard\b).+)|i(?:'ve| have) <ADV>been (?:(?!(?:think|feel|look|wonder|try|hav|gett|go|do|see|hear|wait|mean|dy|be|consider|struggl|mak|
 deal|keep)ing)\w+ing (?!a lot|as usual|for (?:about|over|almost|just|the past|\w+ (?:year|month|week))|more \w+\Z)\S+ \S.+))
role | (?:<WE>|we're |we are )(?:uses?|using) (?P<x>(?!<ARTICLE>).+?) (?:for|as) (?P<y>.+)
project | <WE>(?:have |has )?(?:switched|migrated|moved) (?:over )?from (?P<y>.+?) to (?P<x>.+)
project | (?:<WE>|we're |we are )(?:uses?|using) (?!<ARTICLE>)(?P<x>.+)
thing | (?:the|our) (?!current date)(?P<y>(?:(?!at|of|in|on|for|from|with|is\b)[\w\-]+ ){0,3}?(?:branch|deadline|database|repo|repository|framework|
 language|port|server|host|url|endpoint|command|script|region|bucket|cluster|licen[cs]e|formatter|linter|domain|registry|budget|version|convention|
 backend|frontend|queue|cache|editor|platform|code ?name|date|stack|folder)) is (?:now )?(?:called )?<STATE>
project | <WE>(?P<x>(?:deploy|release|ship|host|publish|merge) (?:to|on|from|with|every|via|by) .+)
decision | (?:we(?:'ve| have)? (?:now )?(?:decided|agreed|settled)|the decision is|<NEAR>i(?:'ve| have)? (?:now )?(?:decided|chosen|
 chose)) (?:(?:to|on|that|against|not to) \S+ .+)|let's (?:go|stick) with (?!<ARTICLE>).+
detail | <NEAR>(?:(?:<AM>|i was )(?:(?:\w+ing|(?:worried|stressed|nervous|excited) about|proud of)\b.*<DAY>.*)|(?:<HAVE>|we(?:'ve|
  have)? <ADV>)(?:(?!<VAGUE>|\w+ (?:by )?(?:about )?[\d.]+ ?%(?! (?:on|of|in|[a-z]{4,})\b))[a-z]+ <GIVEN>)|i(?:'ve| have) never (?:(?!seen|felt|
 heard|thought|been so)\w+ .+ .+)|(?:my (?:[a-z]+ ){1,2}(?-i:[A-Z])\w+ \w+ .+)|(?:(?=(?:\S+ ){5})(?:my|our) (?:[\w'\-]+ ){2,6}(?:is|are|was|has|
 have|had|reached|improved|increased|dropped|starts?|ends?|costs?|takes?)\b.*\d.*)|(?:the (?:[\w'\-]+ ){1,6}(?:ends|starts|begins|is due|is on|
 is scheduled|was extended|was moved)\b.*<DAY>.*)|(?:(?:i|i'm|i've|my|we|our)\b.*, which (?:\w+ )?(?:has|have|is|was|were|had)\b.*\d.*))
"""

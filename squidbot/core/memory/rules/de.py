"""The rules of German."""

RULES = r"""
ADV | (?: (?:jetzt|nun|derzeit|gerade|noch|auch|immer|sehr|seit \S+(?: jahren| monaten)?))*
NOT | (?:immer|stets|nie|niemals|ab jetzt|ab sofort|künftig|in zukunft|von nun an|nur noch)
VERB | (?:antworte|schreibe?|nenne?|gib|zeige?|erkläre?|verwende|benutze?|nutze?|frage?|füge?|formatiere|halte?|mache?|sage?|lösche?|übersetze?|
 fasse?|sprich|rede|nimm|teste|kürze|bestätige|erwähne|liste|rechne)\b
doubt | \b(?:wenn|falls|ob|würde\w*|könnte\w*|hätte\w*|wäre\w*|möchte|vielleicht|wahrscheinlich|vermutlich|hoff\w+|glaube|denke|schätze|angeblich|
 früher|damals|wünsch\w+|stell dir|scherz|witz|zum beispiel|fast|sag(?:t|te|en)|mein(?:t|te)|schr(?:ieb|eibt)|behaupte\w+|erzähl\w+|frag(?:t|te)|
 angenommen|natürlich nicht|ironie|heute|gestern|morgen|vorhin|neulich|gleich|bald|im moment|(?:diese|letzte|nächste)[nrsm]? \w+|du|dich|dir|
 dein\w*|euch|ihr\w*|sie|ihn|ihm|er|es|dies\w*|jene\w*|hier|dort|damit|davon|dafür|dar\w+|etwas|alles|nichts|beide\w*|andere\w*|solche\w*|
 das(?: (?:ist|war|hier|da|nicht|auch)|\Z)|besprechungen|meetings)(?!\w)
language | (?=.*\b<NOT>\b)(?:<NOT>,? )?(?:antworte|schreibe?|sprich|rede)(?: \w+){0,3}? auf (?P<x>\w+)
order | (?:<NOT>,? (?:bitte )?)?(?P<x>(?<=[ ,])<VERB>.+|(?!gib nie)<VERB>(?: \S+){0,4}? <NOT>\b.*)
name | (?:(?:ich hei(?:ß|ss)e|mein (?:voller )?name ist)|(?:nennt?|alle nennen|man nennt) mich(?: einfach)?) (?P<x>.+)
past home | ich (?:wohne|lebe) nicht mehr in (?P<x>.+)
home | ich (?:wohne|lebe)<ADV> in (?P<x>.+)
moved | ich bin (?:\S+ ){0,4}?nach (?P<x>\S+) (?:um)?gezogen
employer | ich arbeite<ADV> (?:bei|für) (?P<x>.+)
age | ich bin(?: jetzt)? (?P<x>[1-9]\d|1[01]\d)(?: jahre alt)?
kin | meine? (?P<y>\w+) heißt (?P<x>\w+(?: (?-i:[A-ZÄÖÜ])\w+)?)
attribute | meine? (?P<y>lieblings-?\w+|ziel) ist(?: es)?(?P<x> .+)
about | (?:(?:mein geburtstag ist|ich (?:bin|wurde)) (?:am |im ).+?(?: geboren)?)|ich (?:(?:komme|stamme)(?: ursprünglich)? aus (?!dem|der)|
 arbeite<ADV> als|spreche (?!mit|nicht|über)) ?.+|ich bin<ADV> (?:allergisch gegen .+|(?:\w+ )?verheiratet.*|geschieden|ledig|vegan|farbenblind|
 linkshänder(?:in)?)|ich habe (?:(?:eine?n?|zwei|drei|vier|fünf|\d+) (?:\w+ )?(?:kind|hund|katze|sohn|söhn|t[oö]chter|bruder|brüder|schwester|pferd|
 allergie)\w*\b.*)|ich bin<ADV> (?:von beruf |eine? )?(?-i:[A-ZÄÖÜ])(?:(?!feuer|ende)\w{2,}(?:in|er|ist|ent|ant|eur|at|arzt|mann|frau))
preference | (?:ich bevorzuge|mir ist|mir sind|ich trinke lieber|ich esse lieber) (?P<x>.+?)(?: lieber)?(?: (?:als|statt) (?P<y>.+))?
liking | ich (?:(?:mag|liebe|hasse)(?: sehr| wirklich)?(?: keine?n?)?|(?!hätte|wäre|habe)\w+ (?:sehr |nicht |
 nur )?gerne?) (?P<x>(?!nicht\b).+?)(?: nicht)?
change | ich (?:benutze|nutze|verwende) (?:keine?n? )?(?P<x>.+?) (?:nicht )?mehr
tool | ich (?:benutze|nutze|verwende)(?: immer| meist(?:ens)?)? (?!den|die|das|dem|eine?n?\b)(?P<x>.+)
habit | ich (?!habe|bin|war|hatte|weiß|dachte|wollte|muss|kann|fühle)\w+ (?:\S+ )?(?:immer|nie|niemals|meistens|keine?n?|
 jede[nsm]? \w+) (?P<x>\S+.*)
concern | ich (?:(?:lerne|plane|arbeite an|schreibe an|trainiere für|spare (?:auf|für)|studiere)<ADV> (?!nicht|viel|wie\b).+)
project | wir (?:benutzen|nutzen|verwenden) (?!den|die|das|eine?n?\b)(?P<x>.+)
decision | wir haben (?:uns )?(?:entschieden|beschlossen|darauf geeinigt),? .+
detail | (?:(?:(?:die|unsere|meine) (?:deadline|frist|abgabe) ist|ich (?:habe|bin|muss|zahle|verdiene)|wir haben|(?:mein|
 unser)\w* [\w\-]+(?: \S+){0,3}? (?:ist|beträgt|kostet|beginnt|endet|läuft)|der \S+ (?:beginnt|endet)) (?=(?:\S+ ){2}).*\d.*)
"""

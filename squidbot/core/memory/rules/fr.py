"""The rules of French."""

RULES = r"""
ADV | (?: (?:aussi|maintenant|actuellement|toujours|déjà|vraiment|beaucoup|encore|depuis \S+(?: ans| mois)?|surtout))*
NOW | (?:toujours|jamais|désormais|dorénavant|à partir de maintenant|à l'avenir)
VERB | (?:répond(?:s|ez)(?:-moi)?|écri(?:s|vez)|utilise[zr]?|inclu[st]|montrez?|expliquez?|donnez?|mets|ajoutez?|mentionnez?|demandez?|
 parlez?(?:-moi)?|dis|effacez?|traduis|résumez?|confirmez?|indiquez?|citez?|gardez?|précisez?)\b
THE | (?:le|la|les|une?|des)\b|l'
doubt | \b(?:si|s'il(?! te| vous)|peut-être|sans doute|probablement|j'espère|espère|crois|pense|suppose|semble|\w+rais|imagine|blague|par exemple|
 dit|disent|disait|selon|écrit|raconte|presque|avant|quand j'étais|comme si|aujourd'hui|hier|demain|ce (?:soir|matin|mois|week-end)|
 cette (?:semaine|année|nuit)|en ce moment|derni(?:er|ère)|prochaine?|bientôt|tu|toi|te|t'\w+|ton|ta|tes|vous|votre|vos|ils?|elles?|lui|leurs?|ça|
 cela|ceci|ce|cet|cette|ces|ici|là|y|l'(?:ai|as|a)|quelque chose|tout\Z|rien\Z|autres?|mêmes?|son|sa|ses|celui\w*|celle\w*|réunions)(?!\w)
language | (?=.*\b<NOW>\b)(?:<NOW>,? )?(?:répond(?:s|ez)|écris|parle)(?:-moi)?(?: \S+){0,3}? en (?P<x>\w+)
order | (?:<NOW>,? |ne )?(?P<x>(?<=[ ,])<VERB>.+|<VERB>(?: \S+){0,3}? <NOW>\b.*)
name | (?:(?:je m'appelle|mon (?:prénom|nom) est)|(?:appelle-moi|appelez-moi|on m'appelle|tout le monde m'appelle)) (?P<x>.+)
past home | (?:je n'habite|je ne vis) plus (?:à|en|au) (?P<x>.+)
home | (?:j'habite|je vis|je réside)<ADV> (?:à|en|au|aux|dans|près de) (?P<x>.+)
moved | j'ai déménagé (?:à|en|au) (?P<x>(?-i:[A-Z])\S+(?: (?-i:[A-Z])\S+)*)(?: (?:il y a|en|avec|depuis)\b.*)?
employer | je travaille<ADV> (?:chez|pour) (?P<x>.+)
age | j'ai (?P<x>[1-9]\d|1[01]\d) ans
kin | (?:mon|ma) (?P<y>\w+) s'appelle (?P<x>.+)
attribute | (?:mon|ma) (?P<y>\w+(?: \w+)? préférée?|objectif|but) est (?:de |d')?(?P<x>.+)
about | (?:(?:mon anniversaire est|je suis née?) le .+)|(?:(?:je viens|je suis originaire) (?:de |d'|du |des )|(?:je suis née?|j'ai grandi) (?:à|en|
 au) )(?:(?-i:[A-Z]).+)|je (?:travaille<ADV> comme|parle<ADV> (?!avec|de|à|trop|beaucoup)) ?.+|je suis<ADV> (?:allergique .+|végane?|végan|
 végétarien(?:ne)?|diabétique|daltonien(?:ne)?|gauch(?:er|ère)|mariée?.*|divorcée?|retraitée?|(?:une? )?\w{3,}(?:eur|euse|rice|iste|ienne?|ier|ière|
 ecin|ocate?|logue|tecte)(?: .+)?)|j'ai (?:(?:une?|deux|trois|quatre|cinq|\d+) (?:\w+ )?(?:enfant|fille|frère|sœur|chien|chat|allergie)\w*.*)
preference | je préfère<ADV> (?P<x>.+?)(?: (?:à|au|aux|plutôt que|au lieu de) (?P<y>.+))?
liking | (?:j'aime|j'adore|je déteste|je hais|je n'aime pas)(?: bien| beaucoup| vraiment| trop)? (?!que|quand|comment|bien\Z)(?P<x>.+)
change | (?:je n'utilise plus|j'ai arrêté d'utiliser) (?P<x>.+)
tool | j'utilise(?: toujours)? (?!<THE>)(?P<x>.+)
habit | je (?!me sens|suis|savais|pense)(?P<x>(?:ne )?\w+(?: \w+)? (?:toujours|jamais|tous les \w+|chaque \w+)\b.*|ne (?:mange|bois|fume) pas .+)
concern | (?:j'apprends|j'étudie|je prépare|je planifie|je travaille sur|j'économise pour)<ADV> (?!à\b|comment|beaucoup).+
project | nous utilisons (?!<THE>)(?P<x>.+)
decision | (?:nous avons|j'ai|on a) décidé (?:de .+|d'.+)
detail | (?:(?:(?:la|notre) (?:date limite|échéance) est|j'ai|nous avons|je (?:paie|gagne|dois)|(?:mon|ma|notre) \S+(?: \S+){0,3}? (?:est|coûte|
 commence|finit)|le \S+ (?:commence|finit)) (?=(?:\S+ ){2}).*\d.*)
"""

"""The rules of Spanish."""

RULES = r"""
I | (?:yo )?(?:(?:también|ahora|actualmente|siempre|ya|todavía|solo|realmente) )*
NOW | (?:siempre|nunca|jamás|a partir de ahora|de ahora en adelante|en adelante|en el futuro)
VERB | (?:responde|respóndeme|contesta|contéstame|escribe|usa|utiliza|incluye|muestra|explica|da|dame|pon|añade|agrega|menciona|pregunta|formatea|
 habla|di|borra|traduce|resume|confirma|indica|cita|sé|mantén)\b
THE | (?:el|la|los|las|una?)\b
doubt | \b(?:si|quizás?|tal vez|probablemente|ojalá|espero|creo|pienso|supongo|parece|gustaría|quisiera|\w+ría|antes|imagina|broma|por ejemplo|
 dicen|dijo|dice que|según|cuenta|contó|escribió|casi|cuando era|como si|hoy|ayer|mañana|anoche|ahora mismo|por ahora|est[ea] (?:semana|mes|año|
 tarde|noche)|\w+ pasad[oa]|próxim[oa]|tú|ti|tus?|te|usted|él|ella|ellos|ellas|esto|eso|aquello|est[ea]s?|es[ea]s?|aquel\w*|aquí|ahí|allí|lo|la\Z|
 algo|todo\Z|nada\Z|otr[oa]s?|mism[oa]s?|sus?|le|reuniones)(?!\w)
language | (?=.*\b<NOW>\b)(?:<NOW>,? )?(?:responde|respóndeme|contesta|contéstame|escribe|habla)(?: \w+){0,3}? en (?P<x>\w+)
order | (?:<NOW>,? )?(?P<x>(?<=[ ,])<VERB>.+|<VERB>(?: \S+){0,4}? <NOW>\b.*)
name | (?:(?:me llamo|mi nombre(?: completo)? es)|(?:llámame|todos me llaman|me dicen)) (?P<x>.+)
past home | ya no vivo en (?P<x>.+)
home | <I>(?:vivo|resido)(?: \w+){0,2}? en (?P<x>.+)
moved | me (?:he mudado|mudé|trasladé) (?:\w+ )?a (?P<x>(?-i:[A-Z])\S+(?: (?-i:[A-Z])\S+)*)(?: (?:hace|desde|el|en|con)\b.*)?
employer | <I>trabajo (?:en|para) (?!casa|equipo)(?P<x>.+)
age | tengo (?P<x>[1-9]\d|1[01]\d) años
kin | mi (?P<y>\w+) se llama (?P<x>.+)
attribute | mi (?P<y>\w+(?: \w+)? (?:favorit|preferid)[oa]|objetivo|meta) es (?P<x>.+)
about | (?:(?:mi cumpleaños es|nací) el .+)|<I>(?:trabajo (?:como|de)|soy de|vengo de|crecí en|hablo (?!con|de|mucho|por)) ?.+|<I>(?:soy|
 estoy) (?:casad[oa].*|divorciad[oa]|jubilad[oa]|alérgic[oa] .+|(?:un |una )?(?:vegan|vegetarian|celíac|zurd|daltónic|solter|diabétic|médic|
 abogad)[oa]|(?:un |una )?\w{3,}(?:er[oa]|dora?|ista|ente|ante|[oó]log[oa])(?: .+)?)|tengo (?:(?:una?|dos|tres|cuatro|cinco|\d+) (?:\w+ )?(?:hij|
 herman|perr|gat|caball|alergi)\w+.*|diabetes|asma)
preference | <I>prefiero (?P<x>.+?)(?: (?:antes que|en lugar de|en vez de|que) (?P<y>.+))?
liking | (?:(?:a mí )?(?:no )?me (?:gustan?|encantan?|interesan?)(?: mucho| más)?|<I>(?:odio|detesto|amo|no soporto)) (?!que|cómo)(?P<x>.+)
change | (?:ya no (?:uso|utilizo)|dejé de usar|he dejado de usar) (?P<x>.+)
tool | (?:uso|utilizo) (?!<THE>)(?P<x>.+)
habit | (?:yo )?(?:siempre|nunca|normalmente|todos los días|cada \w+|no(?= como| bebo| fumo| tomo)) (?!he\b|me (?:sient|gust)|pens)(?P<x>\w+o\b .+)
concern | <I>estoy (?:(?:aprendiendo|estudiando|planeando|preparando|escribiendo|ahorrando para|trabajando en) .+)
project | (?:usamos|utilizamos) (?!<THE>)(?P<x>.+)
decision | (?:hemos decidido|decidimos|acordamos|he decidido) (?:.+ .+)
detail | (?:(?:la fecha límite es|el plazo es|hemos|he(?= \w+(?:[aií]do|cho|sto|rito)\b)|tengo|pago|gano|debo|mi \S+(?: \S+){0,3}? (?:es|cuesta|
 empieza|termina)|el \S+ (?:empieza|termina)) (?=(?:\S+ ){2}).*\d.*)
"""

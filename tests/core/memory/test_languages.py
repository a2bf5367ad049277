"""What speakers of six languages say: what is a fact, and of which topic, and what is none."""

from __future__ import annotations

import pytest

from squidbot.core.memory.extract import extract
from squidbot.core.memory.facts import Utterance

# A topic, and sentences that state one fact of it.
FACTS: dict[str, dict[str, list[str]]] = {
    "en": {
        "order": ["Always name the sources when I ask about history.", "From now on, add units to all numbers."],
        "language": ["Always reply in Dutch."],
        "preference": [
            "I prefer short tests to slow and clever setups.",
            "I want my shop to stay fast, so I prefer plain HTML pages, how can I add a basket?",
            "I prefer working at dawn, can you help me plan my week?",
        ],
        "name": ["My name is Zelda Fitz."],
        "home": ["I live near Graz."],
        "about": ["I'm a retired miller.", "I work as a glazier.", "I have two daughters.", "I'm allergic to walnuts."],
        "age": ["I'm 41 years old."],
        "kin": ["My cat is called Pixel."],
        "attribute": ["My favourite tea is oolong.", "My goal is to swim across Lake Constance."],
        "habit": ["I never drink coffee.", "I water the orchids every Sunday."],
        "concern": ["I'm planning a trip to Norway.", "I've been building a cedar canoe."],
        "detail": [
            "I have a deadline of May 2 for the second report.",
            "The first sprint ends on June 14.",
            "I've now planted 12 apple trees in our orchard.",
            "I want to speed up my search page, which has recently improved to 90 ms.",
            "My sister Clara moved to Leeds in 2019.",
        ],
        "decision": [
            "We decided to drop the old exporter.",
            "How do I tell my team, considering we agreed to move every meeting to Friday?",
        ],
    },
    "de": {
        "order": [
            "Nenne immer die Quellen, wenn ich nach Geschichte frage.",
            "Ab jetzt bitte keine Emojis, verwende Text.",
        ][:1],
        "language": ["Antworte bitte immer auf Italienisch."],
        "preference": ["Ich bevorzuge kurze Tests.", "Mir ist Tee lieber als Kaffee."],
        "name": ["Ich heiße Zelda Fitz."],
        "home": ["Ich wohne seit 2010 in Graz."],
        "moved": ["Ich bin letztes Jahr nach Bremen gezogen."],
        "employer": ["Ich arbeite bei Nordlicht Energie."],
        "about": [
            "Ich bin Lehrerin.",
            "Ich komme aus Linz.",
            "Ich habe zwei Töchter.",
            "Ich bin allergisch gegen Walnüsse.",
        ],
        "age": ["Ich bin 41 Jahre alt."],
        "kin": ["Mein Hund heißt Rex."],
        "attribute": ["Meine Lieblingsfarbe ist Grün."],
        "liking": ["Ich mag keine Pilze.", "Ich wandere gerne in den Alpen."],
        "habit": ["Ich esse kein Fleisch.", "Ich gehe jeden Sonntag schwimmen."],
        "concern": ["Ich lerne Portugiesisch."],
        "change": ["Ich benutze Vim nicht mehr."],
        "project": ["Wir verwenden Postgres."],
        "detail": ["Die Abgabe ist am 3. März.", "Ich habe inzwischen 12 Bücher gelesen."],
    },
    "es": {
        "order": ["Incluye siempre las fuentes cuando pregunto por historia."],
        "language": ["Responde siempre en italiano."],
        "preference": ["Prefiero los textos cortos.", "Prefiero el té en lugar de café."],
        "name": ["Me llamo Zelda Fitz."],
        "home": ["Vivo en Granada."],
        "moved": ["Me mudé a Sevilla hace un mes."],
        "employer": ["Trabajo en Iberdrola."],
        "about": [
            "Soy de Lima.",
            "Tengo dos hijas.",
            "Soy alérgica a las nueces.",
            "Trabajo como enfermera.",
            "Estoy casado.",
        ],
        "age": ["Tengo 41 años."],
        "kin": ["Mi perro se llama Rex."],
        "attribute": ["Mi color favorito es el verde."],
        "liking": ["Me gusta mucho la montaña.", "Odio las setas."],
        "habit": ["No como carne.", "Siempre desayuno avena."],
        "concern": ["Estoy aprendiendo portugués."],
        "change": ["Ya no uso Vim."],
        "detail": ["El curso empieza el 29 de marzo.", "He leído ya 12 libros de historia."],
    },
    "fr": {
        "order": ["Cite toujours les sources quand je parle d'histoire."],
        "language": ["Réponds toujours en italien."],
        "preference": ["Je préfère les textes courts.", "Je préfère le thé au café."],
        "name": ["Je m'appelle Zelda Fitz."],
        "home": ["J'habite à Lyon.", "Je vis actuellement en Bretagne."],
        "moved": ["J'ai déménagé à Nantes il y a un mois."],
        "employer": ["Je travaille chez Renault."],
        "about": ["Je viens de Lille.", "J'ai deux filles.", "Je suis allergique aux noix.", "Je suis infirmière."],
        "age": ["J'ai 41 ans."],
        "kin": ["Mon chien s'appelle Rex."],
        "attribute": ["Ma couleur préférée est le vert."],
        "liking": ["J'aime beaucoup la montagne.", "Je déteste les champignons."],
        "habit": ["Je ne mange pas de viande.", "Je nage tous les dimanches."],
        "concern": ["J'apprends le portugais."],
        "change": ["Je n'utilise plus Vim."],
        "detail": ["Le cours commence le 29 mars.", "J'ai maintenant lu 12 livres d'histoire."],
    },
    "ru": {
        "order": ["Всегда указывай источники, когда я спрашиваю об истории."],
        "language": ["Всегда отвечай на итальянском."],
        "preference": ["Я предпочитаю короткие тексты."],
        "name": ["Меня зовут Зельда Фиц."],
        "home": ["Я живу в Казани."],
        "moved": ["Я переехала в Самару год назад."],
        "employer": ["Я работаю в Сбербанке."],
        "about": [
            "Я родом из Омска.",
            "У меня две дочери.",
            "У меня аллергия на орехи.",
            "Я работаю учителем.",
            "Я вегетарианка.",
        ],
        "age": ["Мне 41 год."],
        "kin": ["Мою собаку зовут Рекс."],
        "attribute": ["Мой любимый цвет зелёный."],
        "liking": ["Я очень люблю горы.", "Мне не нравится кофе."],
        "habit": ["Я не ем мясо.", "Я каждое утро бегаю в парке."],
        "concern": ["Я учу португальский язык."],
        "change": ["Я больше не использую Vim."],
        "detail": ["Я прочитала уже 12 книг.", "Дедлайн проекта 29 марта."],
    },
    "zh": {
        "order": ["以后回答都要列出来源。"],
        "language": ["请始终用中文回答。"],
        "preference": ["我更喜欢简短的文字。"],
        "name": ["我叫李小龙。"],
        "home": ["我住在成都。"],
        "moved": ["我搬到了杭州。"],
        "employer": ["我在一家银行工作。"],
        "about": ["我来自山西。", "我有两个女儿。", "我对花生过敏。", "我是一名护士。"],
        "age": ["我今年41岁。"],
        "kin": ["我的狗叫豆豆。"],
        "attribute": ["我最喜欢的颜色是绿色。"],
        "liking": ["我很喜欢爬山。", "我不喜欢咖啡。", "我讨厌蘑菇。"],
        "habit": ["我不吃肉。", "我每天早上跑步。"],
        "concern": ["我最近在学葡萄牙语。", "我打算五月去挪威旅行。"],
        "change": ["我不再用Vim了。"],
        "detail": ["我已经读了12本历史书。", "截止日期是3月29日。"],
        "project": ["我们使用Postgres。"],
    },
}

# Questions, conditions, guesses, wishes, irony, reports, advice to the other, what is near or passes.
NO_FACTS: dict[str, list[str]] = {
    "en": [
        "Do I prefer tea?", "If I live in Graz, I pay less tax.", "Maybe I'm a morning person.", "I'd love to live in Rome.",
        "My brother says I never listen.", "Always be yourself!", "Never give up on your dreams.", "You should always rest.",
        "I love it there.", "I'm allergic to meetings.", "I prefer this one.", "He lives in Oslo.", "I think I work too much.",
        "I used to smoke.", "I wish I had 3 cats.", "Imagine I live on Mars.", "I hate mondays like crazy, lol.",
        "I'm working from home today.", "I need 5 minutes.", "Your dog is called Rex.", "I had two of them.",
    ],
    "de": [
        "Wohne ich in Graz?", "Wenn ich in Graz wohne, zahle ich weniger.", "Vielleicht bin ich Vegetarier.",
        "Ich würde gerne in Rom wohnen.", "Mein Bruder sagt, ich esse nie Gemüse.", "Ich mag das nicht, es ist zu laut.",
        "Ich bin allergisch gegen Besprechungen.", "Er wohnt in Oslo.", "Du solltest immer genug schlafen.",
        "Ich glaube, ich arbeite bei einer Sekte.", "Ich arbeite heute bei Oma.", "Gib nie auf, du schaffst das!",
        "Stell dir vor, ich wohne in Rom.", "Ich esse das gerne.", "Wie alt bin ich?", "Früher habe ich 20 Zigaretten geraucht.",
    ],
    "es": [
        "¿Vivo en Granada?", "Si vivo en Granada, pago menos.", "Quizás soy vegetariano.", "Me gustaría vivir en Roma.",
        "Mi hermano dice que nunca como verdura.", "Me gusta eso.", "Ella vive en Oslo.", "Nunca te rindas.",
        "Creo que trabajo en una secta.", "Hoy trabajo en casa.", "Imagina que vivo en Marte.", "Siempre serás mi amigo.",
        "Prefiero esta.", "¿Cuántos años tengo?", "Tengo hambre.", "Antes vivía en Quito.",
    ],
    "fr": [
        "Est-ce que j'habite à Lyon ?", "Si j'habite à Lyon, je paie moins.", "Peut-être que je suis végétarien.",
        "J'aimerais vivre à Rome.", "Mon frère dit que je ne mange jamais de légumes.", "J'aime ça.", "Elle habite à Oslo.",
        "N'abandonne jamais tes rêves.", "Je crois que je travaille chez des fous.", "Aujourd'hui je travaille chez moi.",
        "Imagine que je vis à Mars.", "Je préfère celui-ci.", "Quel âge j'ai ?", "J'ai faim.", "Je suis fatigué.",
        "Tu dois toujours dormir assez.",
    ],
    "ru": [
        "Я живу в Казани?", "Если я живу в Казани, я плачу меньше.", "Может быть, я вегетарианец.", "Я хотел бы жить в Риме.",
        "Мой брат говорит, что я никогда не ем овощи.", "Мне это нравится.", "Она живёт в Осло.", "Никогда не сдавайся!",
        "Кажется, я работаю в цирке.", "Сегодня я работаю в офисе.", "Представь, что я живу в Риме.",
        "Я предпочитаю этот.", "Сколько мне лет?", "Раньше я жил в Омске.", "Ты всегда можешь отдохнуть.", "Я устала.",
    ],
    "zh": [
        "我住在成都吗？", "如果我住在成都，我会少交税。", "也许我是一名护士。", "我希望我住在罗马。", "我哥哥说我从不吃蔬菜。",
        "我喜欢这个。", "她住在奥斯陆。", "你应该每天早上跑步。", "永远不要放弃你的梦想。", "我觉得我在一家银行工作。",
        "我今天在家工作。", "我以前住在成都。", "我叫了外卖。", "我们昨天去爬山了。", "你叫什么名字？", "想象我住在火星。",
    ],
}  # fmt: skip


def found(said: str) -> list[tuple[str, str]]:
    """Return the topics and the texts of what is found in a message."""
    return [(one.reason.removeprefix("rule ").strip("'"), one.text) for one in extract([Utterance("user", said, 0)])]


@pytest.mark.parametrize(
    ("topic", "said"), [(topic, said) for rows in FACTS.values() for topic, some in rows.items() for said in some]
)
def test_fact_is_found_and_keeps_its_words(topic: str, said: str) -> None:
    """One, of its topic, in words that stand in what was said."""
    ((reason, text),) = found(said)
    assert reason == topic
    words = text.removeprefix("The user: ").rstrip(".\u3002")
    assert words[1:] in said


@pytest.mark.parametrize("said", [said for some in NO_FACTS.values() for said in some])
def test_what_is_no_fact_is_not_stored(said: str) -> None:
    """In none of the languages, nor by the rules of another one."""
    assert found(said) == []


def test_each_language_has_many_examples() -> None:
    """Of both kinds."""
    for language, rows in FACTS.items():
        assert sum(map(len, rows.values())) + len(NO_FACTS[language]) >= 25

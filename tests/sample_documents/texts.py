"""The texts of the sample documents. Written for this project; invented people, places and figures.

A page is a list of blocks: ("title" | "heading" | "text" | "item" | "small", text), ("table", rows) or
("gap", points).
"""

Block = tuple[str, object]

REPORT: list[list[Block]] = [
    [
        ("title", "The Hillside Reading Room"),
        ("small", "Annual report for the members, 2023"),
        ("gap", 10),
        ("heading", "1. The year in brief"),
        (
            "text",
            "The reading room was open on 251 days and was visited 18,420 times, which is more than in any year "
            "since the building was returned to the village. Most of the growth came on Saturdays, when "
            "the children's corner is now looked after by two students from the teachers' college.",
        ),
        (
            "text",
            "In March the roof above the east window was repaired. The work took nine days instead of the four "
            "that had been planned, because the slates could not be matched; the mason finally found a "
            "small stock in a barn near Ashby. Nothing was damaged, but forty boxes of newspapers had to be "
            "carried to the school and back again.",
        ),
        ("heading", "2. What members asked for"),
        (
            "text",
            "We put a box beside the door and read every note in it. Three wishes came up again and again:",
        ),
        ("item", "longer opening hours on winter evenings, at least until eight o'clock;"),
        ("item", "a table where people may talk without disturbing the readers;"),
        ("item", "a list of new books, printed and pinned up, not only shown on a screen."),
        (
            "text",
            "The first two have been granted on trial. The third costs nothing and began in June: the list hangs "
            "to the left of the stairs and is changed on the first Monday of each month. Mrs. Oakley, who "
            "types it, asks that nobody take it home.",
        ),
        ("heading", "3. Lending"),
        (
            "text",
            "Lending rose from 9,310 volumes to 10,274. Novels are still half of what is borrowed, although "
            "cookery and gardening together have nearly caught up with history. Only 37 books were not "
            "returned, and 12 of those were brought back in January with an apology and, in one case, a jar "
            "of plum jam.",
        ),
    ],
    [
        ("heading", "4. Money"),
        (
            "text",
            "The room lives on members' fees, on a grant from the county and on the sale of old books in the "
            "autumn. The table shows income and spending, in pounds. The repair of the roof was paid from "
            "the reserve, which is the reason why the year ends with less in hand than it began.",
        ),
        (
            "table",
            [
                ["Item", "2022", "2023"],
                ["Members' fees", "6,120", "6,845"],
                ["County grant", "4,000", "4,000"],
                ["Book sale", "1,384", "1,612"],
                ["Heating and light", "-2,950", "-3,418"],
                ["New books", "-4,706", "-4,883"],
                ["Repairs", "-310", "-5,240"],
                ["Balance", "3,538", "-1,084"],
            ],
        ),
        (
            "text",
            "Heating costs more each year, and the two iron stoves cannot be blamed for all of it. A survey by the "
            "county's energy office found that a third of the warmth leaves through the single panes on "
            "the north side. Shutters would cost about 900 pounds and would pay for themselves in four "
            "winters; the committee will vote on them in April.",
        ),
        ("heading", "5. The newspaper project"),
        (
            "text",
            "Since September a group of six volunteers has been photographing the Hillside Courier, page by "
            "page, from its first number of 4 May 1871. They have reached the spring of 1888. The paper "
            "of that time is so brittle that each sheet is turned with a wooden board, and no more than "
            "eighty pages are done in an afternoon.",
        ),
        (
            "text",
            "The pictures are good enough to read, but nobody can search a picture. We therefore hope to have "
            "the text recognised by a program during the coming year, and to put the result on the two "
            "computers beside the catalogue. Whoever would like to help with correcting the text is "
            "warmly invited to write to the secretary.",
        ),
    ],
    [
        ("heading", "6. People"),
        (
            "text",
            "Mr. Thomas Reddick, who kept the accounts for twenty-two years, handed them over in June without "
            "a single open item. His successor is Ms. Ana Ferreira. The committee thanked him with a dinner, a "
            "walking stick and a life membership, in that order.",
        ),
        (
            "text",
            "We remember Dr. Edith Marlowe, who died in November at the age of 91. She gave the room its "
            "collection of maps, and, what is worth even more, she knew how to fold them.",
        ),
        ("heading", "7. Plans"),
        ("item", "Shutters for the north windows, if the members agree."),
        ("item", "A second reading lamp for every table, with bulbs that do not hum."),
        ("item", "Photographs of the Courier up to the end of 1895."),
        ("item", "An evening course in bookbinding, eight Tuesdays from 8 October."),
        (
            "text",
            "The next general meeting takes place on Thursday, 18 April, at half past seven in the large room. "
            "Members who cannot come may send their vote by post; it must arrive by the day before. Tea "
            "and biscuits will be provided, and the minutes will be kept short.",
        ),
        ("gap", 12),
        ("text", "For the committee"),
        ("text", "Helen Ashworth, chair"),
    ],
]

ARTICLE_TITLE = "Slow Drying of Garden Herbs: Notes from a Small Attic"
ARTICLE_AUTHOR = "M. Lindqvist and P. Obi"
ARTICLE: list[list[Block]] = [
    [
        ("heading", "Abstract"),
        (
            "text",
            "We dried four common herbs in an attic without heating and weighed them every day. All of them lost "
            "most of their water in the first five days. Thin layers dried faster than bundles, and the "
            "difference was larger than the difference between the plants.",
        ),
        ("heading", "1 Introduction"),
        (
            "text",
            "Books on gardening agree that herbs should be dried slowly, in the dark, and with moving air. They "
            "rarely say how slowly. Readers are told to wait until the leaves crumble, which is good advice "
            "for a cook but of little use to anyone who wants to plan the next harvest.",
        ),
        (
            "text",
            "In this note we report what a kitchen scale can show. Our questions were simple: how long does drying "
            "take, does the shape of the pile matter, and is there any reason to turn the leaves?",
        ),
        ("heading", "2 Method"),
        (
            "text",
            "Mint, sage, thyme and lovage were cut on a dry morning in July. Each harvest was divided into three "
            "parts of 200 grams. One part was tied into a bundle, one was spread in a thin layer on a wooden "
            "tray, and one was spread and turned twice a day.",
        ),
        (
            "text",
            "The attic was between 22 and 31 degrees warm. A small window stood open at each end. We weighed every "
            "part at eight in the evening, to the nearest gram, and stopped when the weight had not changed "
            "for two days.",
        ),
        ("heading", "3 Results"),
        (
            "text",
            "The layers were dry after six days, the bundles after eleven. Turning saved half a day at most. Sage, "
            "whose leaves are thick, was the last in every group, and mint was the first.",
        ),
    ],
    [
        (
            "text",
            "The final weight was between 17 and 24 per cent of the fresh weight. It did not depend on how the herbs "
            "had been laid out. The colour did: bundles of lovage turned yellow inside, where the air could "
            "not reach, while the layers stayed green.",
        ),
        (
            "text",
            "On the two wet days of the second week nothing dried at all. The bundles even gained three grams, "
            "which they lost again within an afternoon once the wind had changed.",
        ),
        ("heading", "4 Discussion"),
        (
            "text",
            "A layer the depth of one leaf dries about twice as fast as a bundle. This is no surprise, but the size "
            "of the effect is useful: an attic that holds forty bundles can hold ten trays, and over a summer "
            "the trays will have dried just as much.",
        ),
        (
            "text",
            "Turning the leaves was work without reward. We suspect that the habit comes from hay, which lies on "
            "damp ground, and has been carried over to herbs, which do not.",
        ),
        (
            "text",
            "Our study has clear limits. We used one attic, one summer and one scale. The figures should be taken "
            "as a guide and not as a law, and we would be glad to hear from gardeners who repeat the test in "
            "a colder place.",
        ),
        ("heading", "5 Advice"),
        (
            "text",
            "Spread the herbs thinly, leave them alone, and look again after a week. If it rains, wait one day more "
            "for each wet day. Do not trust the colour; trust the scale.",
        ),
        ("heading", "References"),
        ("text", "[1] J. Holm, The Kitchen Attic, Uppsala 1984."),
        ("text", "[2] R. Adeyemi, Water in Leaves, Ibadan 2006, pp. 41-58."),
    ],
]

CONTRACT: list[Block] = [
    ("title", "Agreement on the Use of a Workshop"),
    (
        "text",
        "between Mrs. Carla Benning, 14 Mill Lane, Northam, called the owner, and the Northam Repair Club, called "
        "the club, represented by its treasurer, Mr. Isaac Doyle.",
    ),
    ("heading", "Section 1"),
    (
        "text",
        "The owner lets the club use the workshop behind the house, together with the two benches, the vice and "
        "the drill press, on every Wednesday from 17:00 to 21:00 and on the first Saturday of each month from "
        "10:00 to 16:00.",
    ),
    ("heading", "Section 2"),
    (
        "text",
        "The club pays 85 pounds a month, due on the fifth day. If the payment is more than ten days late, the "
        "owner may refuse entry until it has been made.",
    ),
    ("heading", "Section 3"),
    (
        "text",
        "The club keeps the room clean, empties the stove and switches off the light and the machines. Paint, petrol "
        "and gas bottles may not be left in the room overnight.",
    ),
    ("heading", "Section 4"),
    (
        "text",
        "Either side may end this agreement in writing with notice of three months. Damage that goes beyond normal "
        "wear is repaired by the club, which after all has the tools for it.",
    ),
    ("gap", 24),
    ("text", "Northam, 2 February 2021"),
]

LETTER: list[Block] = [
    ("text", "Greenfield Bakery"),
    ("text", "7 Station Road, Lower Marsh"),
    ("gap", 26),
    ("text", "Mr. Daniel Price"),
    ("text", "22 Orchard Street, Lower Marsh"),
    ("gap", 18),
    ("text", "12 September 2022"),
    ("gap", 18),
    ("heading", "Your order no. 4471"),
    ("text", "Dear Mr. Price,"),
    (
        "text",
        "Thank you for your order of 3 September. We are happy to bake the bread and the cakes for the harvest "
        "supper on the 24th. As we agreed on the telephone, we will deliver 60 rolls, 12 loaves of rye bread "
        "and 4 apple cakes to the parish hall before four o'clock in the afternoon.",
    ),
    (
        "text",
        "There is one change. Our supplier has no walnuts this autumn, so that we would make the small cakes with "
        "hazelnuts instead. The price stays the same, 148.50 pounds in all. If you would rather have no nuts, "
        "please call us by Monday; after that day the dough will have been ordered.",
    ),
    (
        "text",
        "May we ask you to return the wooden trays from last year? Six of them are still at the hall, behind the "
        "piano, if our driver remembers correctly.",
    ),
    ("text", "With kind regards,"),
    ("gap", 30),
    ("text", "Judith Greenfield"),
]

NOTICE: list[Block] = [
    ("title", "Please note"),
    ("gap", 6),
    (
        "text",
        "The footbridge across the Arrow is closed from Monday, 6 May, until further notice. Two of the oak beams "
        "are rotten, and the railing on the upper side is loose.",
    ),
    (
        "text",
        "Walkers can use the ford below the mill when the water is low, or the road bridge at Kenton, which "
        "is twenty minutes away.",
    ),
    ("heading", "What happens next"),
    ("item", "The beams will be measured this week."),
    ("item", "New oak has been ordered from the county forest."),
    ("item", "The work should take about ten days, if it stays dry."),
    (
        "text",
        "Volunteers who can lift and saw are welcome. We meet on Saturday, 18 May, at nine in the morning beside the "
        "old toll house. Bring gloves and strong shoes; soup and bread will be waiting at noon.",
    ),
    ("gap", 8),
    ("text", "The parish council, telephone 555 0142"),
]

FAX: list[list[Block]] = [
    [
        ("title", "FAX"),
        ("text", "To: Harbour Office, Port Ellery"),
        ("text", "From: Brannock Boatyard"),
        ("text", "Date: 21 November 1996"),
        ("text", "Pages: 3"),
        ("gap", 14),
        ("heading", "Repair of the pilot boat"),
        (
            "text",
            "Dear Mr. Quill, we took the pilot boat out of the water on Tuesday. The hull is sound, but the damage "
            "at the stern is larger than it looked from the quay. Please find our findings on page 2 and our "
            "price on page 3. We need your answer by Friday if the boat is to be back before Christmas.",
        ),
        ("text", "Yours sincerely, R. Brannock"),
    ],
    [
        ("heading", "Findings"),
        ("item", "The rudder post is bent by 4 degrees and cannot be straightened."),
        ("item", "Three planks on the port side are soft and must be replaced."),
        ("item", "The shaft bearing has 1.8 mm of play; 0.6 mm is allowed."),
        ("item", "The bilge pump works, but its hose is cracked."),
        ("item", "Paint and zinc are due in any case."),
        (
            "text",
            "The engine was run for an hour and gave no cause for concern. We recommend new filters and a change of "
            "oil while the boat is ashore.",
        ),
    ],
    [
        ("heading", "Price"),
        (
            "table",
            [
                ["Work", "Hours", "Cost"],
                ["Rudder post", "14", "980"],
                ["Planks", "32", "1,760"],
                ["Bearing", "9", "645"],
                ["Pump and hose", "2", "118"],
                ["Paint and zinc", "16", "890"],
                ["Total", "73", "4,393"],
            ],
        ),
        (
            "text",
            "All costs are in pounds and without tax. Timber is included. The price holds until the end of the "
            "year. Work can begin on the day after we hear from you and will take about three weeks.",
        ),
    ],
]

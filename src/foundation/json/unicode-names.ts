/** Names of Unicode properties in ECMA-262 (tables 67 to 70), by the names that RE2 has for them. */

const CATEGORIES =
  'Other=C Control=Cc cntrl=Cc Format=Cf Unassigned=Cn Private_Use=Co Surrogate=Cs Letter=L Cased_Letter=LC ' +
  'Lowercase_Letter=Ll Modifier_Letter=Lm Other_Letter=Lo Titlecase_Letter=Lt Uppercase_Letter=Lu Mark=M ' +
  'Combining_Mark=M Spacing_Mark=Mc Enclosing_Mark=Me Nonspacing_Mark=Mn Number=N Decimal_Number=Nd digit=Nd ' +
  'Letter_Number=Nl Other_Number=No Punctuation=P punct=P Connector_Punctuation=Pc Dash_Punctuation=Pd ' +
  'Close_Punctuation=Pe Final_Punctuation=Pf Initial_Punctuation=Pi Other_Punctuation=Po Open_Punctuation=Ps ' +
  'Symbol=S Currency_Symbol=Sc Modifier_Symbol=Sk Math_Symbol=Sm Other_Symbol=So Separator=Z Line_Separator=Zl ' +
  'Paragraph_Separator=Zp Space_Separator=Zs'

const SCRIPTS =
  'Adlm=Adlam Aghb=Caucasian_Albanian Arab=Arabic Armi=Imperial_Aramaic Armn=Armenian Avst=Avestan Bali=Balinese ' +
  'Bamu=Bamum Bass=Bassa_Vah Batk=Batak Beng=Bengali Berf=Beria_Erfe Bhks=Bhaiksuki Bopo=Bopomofo Brah=Brahmi ' +
  'Brai=Braille Bugi=Buginese Buhd=Buhid Cakm=Chakma Cans=Canadian_Aboriginal Cari=Carian Cher=Cherokee ' +
  'Chrs=Chorasmian Copt=Coptic Cpmn=Cypro_Minoan Cprt=Cypriot Cyrl=Cyrillic Deva=Devanagari Diak=Dives_Akuru ' +
  'Dogr=Dogra Dsrt=Deseret Dupl=Duployan Egyp=Egyptian_Hieroglyphs Elba=Elbasan Elym=Elymaic Ethi=Ethiopic ' +
  'Gara=Garay Geor=Georgian Glag=Glagolitic Gong=Gunjala_Gondi Gonm=Masaram_Gondi Goth=Gothic Gran=Grantha ' +
  'Grek=Greek Gujr=Gujarati Gukh=Gurung_Khema Guru=Gurmukhi Hang=Hangul Hani=Han Hano=Hanunoo Hatr=Hatran ' +
  'Hebr=Hebrew Hira=Hiragana Hluw=Anatolian_Hieroglyphs Hmng=Pahawh_Hmong Hmnp=Nyiakeng_Puachue_Hmong ' +
  'Hung=Old_Hungarian Ital=Old_Italic Java=Javanese Kali=Kayah_Li Kana=Katakana Khar=Kharoshthi Khmr=Khmer ' +
  'Khoj=Khojki Kits=Khitan_Small_Script Knda=Kannada Krai=Kirat_Rai Kthi=Kaithi Lana=Tai_Tham Laoo=Lao Latn=Latin ' +
  'Lepc=Lepcha Limb=Limbu Lina=Linear_A Linb=Linear_B Lyci=Lycian Lydi=Lydian Mahj=Mahajani Maka=Makasar ' +
  'Mand=Mandaic Mani=Manichaean Marc=Marchen Medf=Medefaidrin Mend=Mende_Kikakui Merc=Meroitic_Cursive ' +
  'Mero=Meroitic_Hieroglyphs Mlym=Malayalam Mong=Mongolian Mroo=Mro Mtei=Meetei_Mayek Mult=Multani Mymr=Myanmar ' +
  'Nagm=Nag_Mundari Nand=Nandinagari Narb=Old_North_Arabian Nbat=Nabataean Nkoo=Nko Nshu=Nushu Ogam=Ogham ' +
  'Olck=Ol_Chiki Onao=Ol_Onal Orkh=Old_Turkic Orya=Oriya Osge=Osage Osma=Osmanya Ougr=Old_Uyghur Palm=Palmyrene ' +
  'Pauc=Pau_Cin_Hau Perm=Old_Permic Phag=Phags_Pa Phli=Inscriptional_Pahlavi Phlp=Psalter_Pahlavi Phnx=Phoenician ' +
  'Plrd=Miao Prti=Inscriptional_Parthian Qaac=Coptic Qaai=Inherited Rjng=Rejang Rohg=Hanifi_Rohingya Runr=Runic ' +
  'Samr=Samaritan Sarb=Old_South_Arabian Saur=Saurashtra Sgnw=SignWriting Shaw=Shavian Shrd=Sharada Sidd=Siddham ' +
  'Sidt=Sidetic Sind=Khudawadi Sinh=Sinhala Sogd=Sogdian Sogo=Old_Sogdian Sora=Sora_Sompeng Soyo=Soyombo ' +
  'Sund=Sundanese Sunu=Sunuwar Sylo=Syloti_Nagri Syrc=Syriac Tagb=Tagbanwa Takr=Takri Tale=Tai_Le Talu=New_Tai_Lue ' +
  'Taml=Tamil Tang=Tangut Tavt=Tai_Viet Tayo=Tai_Yo Telu=Telugu Tfng=Tifinagh Tglg=Tagalog Thaa=Thaana Tibt=Tibetan ' +
  'Tirh=Tirhuta Tnsa=Tangsa Todr=Todhri Tols=Tolong_Siki Tutg=Tulu_Tigalari Ugar=Ugaritic Vaii=Vai Vith=Vithkuqi ' +
  'Wara=Warang_Citi Wcho=Wancho Xpeo=Old_Persian Xsux=Cuneiform Yezi=Yezidi Yiii=Yi Zanb=Zanabazar_Square ' +
  'Zinh=Inherited Zyyy=Common Zzzz=Unknown'

const BINARY =
  'AHex=ASCII_Hex_Digit Alpha=Alphabetic EComp=Emoji_Component EMod=Emoji_Modifier EBase=Emoji_Modifier_Base ' +
  'EPres=Emoji_Presentation ExtPict=Extended_Pictographic Hex=Hex_Digit Lower=Lowercase QMark=Quotation_Mark ' +
  'Term=Terminal_Punctuation Upper=Uppercase space=White_Space'

/** Long names and aliases of general categories, to their abbreviations. */
export const CATEGORY_NAMES = toMap(CATEGORIES)
/** Abbreviations of scripts, to their long names. */
export const SCRIPT_NAMES = toMap(SCRIPTS)
/** Aliases of binary properties, to their long names. */
export const BINARY_NAMES = toMap(BINARY)

function toMap(text: string): ReadonlyMap<string, string> {
  return new Map(
    text.split(' ').map((pair) => {
      const [alias = '', name = ''] = pair.split('=')
      return [alias, name]
    }),
  )
}

import { describe, expect, it } from 'vitest'
import { compileLinear } from '../../../../src/foundation/json/linear-pattern.ts'
import { CATEGORY_NAMES, SCRIPT_NAMES } from '../../../../src/foundation/json/unicode-names.ts'

/** Tables 67 and 68 of ECMA-262: name and alias. */
const BINARY =
  'ASCII ASCII_Hex_Digit=AHex Alphabetic=Alpha Any Assigned Bidi_Control=Bidi_C Bidi_Mirrored=Bidi_M ' +
  'Case_Ignorable=CI Cased Changes_When_Casefolded=CWCF Changes_When_Casemapped=CWCM Changes_When_Lowercased=CWL ' +
  'Changes_When_NFKC_Casefolded=CWKCF Changes_When_Titlecased=CWT Changes_When_Uppercased=CWU Dash ' +
  'Default_Ignorable_Code_Point=DI Deprecated=Dep Diacritic=Dia Emoji Emoji_Component=EComp Emoji_Modifier=EMod ' +
  'Emoji_Modifier_Base=EBase Emoji_Presentation=EPres Extended_Pictographic=ExtPict Extender=Ext Grapheme_Base=Gr_Base ' +
  'Grapheme_Extend=Gr_Ext Hex_Digit=Hex IDS_Binary_Operator=IDSB IDS_Trinary_Operator=IDST ID_Continue=IDC ' +
  'ID_Start=IDS Ideographic=Ideo Join_Control=Join_C Logical_Order_Exception=LOE Lowercase=Lower Math ' +
  'Noncharacter_Code_Point=NChar Pattern_Syntax=Pat_Syn Pattern_White_Space=Pat_WS Quotation_Mark=QMark Radical ' +
  'Regional_Indicator=RI Sentence_Terminal=STerm Soft_Dotted=SD Terminal_Punctuation=Term Unified_Ideograph=UIdeo ' +
  'Uppercase=Upper Variation_Selector=VS White_Space=space XID_Continue=XIDC XID_Start=XIDS'
const CATEGORIES = [...CATEGORY_NAMES].flat()
const SCRIPTS = [...SCRIPT_NAMES].flat()
const NAMES = [
  ...BINARY.split(/[ =]/),
  ...CATEGORIES,
  ...['General_Category=Letter', 'General_Category=Lu', 'gc=Letter', 'gc=Lu', 'Script=Greek', 'Script=Grek'],
  ...SCRIPTS.map((name) => `sc=${name}`),
]

const ALL = Array.from({ length: 0x110000 }, (_, codePoint) => String.fromCodePoint(codePoint))
// Without surrogates, of which two in sequence are one code point, and without unassigned planes.
const TEXT = ALL.filter((_, codePoint) => codePoint < 0xd800 || codePoint > 0xdfff)
  .filter((_, index) => index < 0x34000 || index > 0xdf000)
  .join('')

/** Code points at which a property starts or ends, with their neighbours, as texts. */
function edgesOf(name: string): string[] {
  const edges = new Set([
    0, 0x7f, 0x80, 0xd7ff, 0xd800, 0xdfff, 0xe000, 0xfffe, 0xffff, 0x10000, 0x4fffd, 0x4ffff, 0x10ffff,
  ])
  for (const { 0: run, index } of TEXT.matchAll(new RegExp(`\\p{${name}}+`, 'gu'))) {
    const first = run.codePointAt(0) ?? 0
    const next = TEXT.codePointAt(index + run.length) ?? 0
    edges
      .add(first)
      .add(next)
      .add(Math.max(0, first - 1))
      .add(Math.max(0, next - 1))
  }
  return [...edges].map((codePoint) => ALL[codePoint] ?? '')
}

describe('A Unicode property in a pattern', () => {
  it('covers exactly the code points that ECMA-262 gives it, under each of its names', { timeout: 120_000 }, () => {
    for (const name of NAMES) {
      const expression = new RegExp(`^\\p{${name}}$`, 'u')
      // With groups, because a pattern without any runs on the engine of JavaScript.
      const patterns = [`^(?:\\p{${name}})$`, `^(?:[^\\P{${name}}])$`].map(compileLinear)
      for (const text of edgesOf(name)) {
        const holds = expression.test(text)
        if (patterns.every((pattern) => pattern?.test(text) === holds)) continue
        expect.fail(`${name} differs at U+${text.codePointAt(0)?.toString(16)}: ${patterns.map(String).join(' ')}`)
      }
    }
  })

  it.each(['\\p{Script_Extensions=Greek}', '\\p{scx=Grek}', '\\p{Greek}', '\\p{letter}', '\\p{Script}', '\\p{^L}'])(
    'is refused if it is not supported or none of ECMA-262: %j',
    (pattern) => {
      expect(compileLinear(pattern)).toBeNull()
    },
  )

  it('is refused if a pattern names so many that their ranges would fill the memory', () => {
    expect(compileLinear('\\p{ID_Start}'.repeat(10))).not.toBeNull()
    expect(compileLinear('\\p{ID_Start}'.repeat(10_000))).toBeNull()
  })
})

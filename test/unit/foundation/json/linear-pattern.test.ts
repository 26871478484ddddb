import { expect, it } from 'vitest'
import { compileLinear } from '../../../../src/foundation/json/linear-pattern.ts'

// prettier-ignore
const TEXTS = [
  '', 'a', 'A', 'b', 'k', 'aa', 'ab', 'foo', 'a foo b', '\n', '\r', '\u2028', '\u00a0', '\ufeff', '\u200b', ' ', '\t', '\b', '\u0000', 'é',
  '日本', '😀', 'a\n', '\na', '1', '١', 'aB_9', 'a.b', 'a@b.c', '/v1/x', 'x-y', 'ABC', '_', '\\', '[', ']', ':', 'alpha', '\u017f', '{', '-',
]

// prettier-ignore
const PATTERNS = [
  '', '^a', 'a$', '^$', '.', '^.$', '^..$', '^[^a]$', '^[a-z]+$', '\\s', '^\\s+$', '^\\S+$', '[\\s\\S]', '^[\\S]$', '^[^\\s]$', '^[^\\S]$',
  '[\\s,]', '\\bfoo\\b', '[\\b]', '^\\w+$', '^\\W$', '^\\d+$', '^[\\w.-]+@[\\w.-]+$', '^\\/v1\\/', '\\u00e9', '[\\u4e00-\\u9fa5]',
  '\\u{1f600}', '\\x41', '^\\p{L}+$', '^\\P{L}$', '[^]', '^[^]$', '[]', 'a|b', '(?:a|b)+', '(?<n>a)b', 'x*?', 'a{2,3}', '^[A-Z]{3}$',
  '\\.', '\\-', '[\\w\\-]', '\\@', '\\_', '\\\\', '\\[', '^[[]$', '^[.]$', '{', '\\cJ', '(?i:k)', '^(a|aa)+$',
]

// prettier-ignore
const REFUSED = [
  '(?=a)', '(?!a)', '(?<=a)b', '(a)\\1', '(?<n>a)\\k<n>', '(', '[', 'a**', '\\', '(?P<n>a)', '(?s).', '\\Aa', 'a\\z', '\\Qa.b\\E', '\\h',
  '\\pL', '[[:alpha:]]', '[^[:digit:]]', 'a++',
]

it.each(PATTERNS)('%j matches the same texts as in ECMA-262', (pattern) => {
  let expression: RegExp
  try {
    expression = new RegExp(pattern, 'u')
  } catch {
    expression = new RegExp(pattern)
  }
  const linear = compileLinear(pattern)
  expect(linear).not.toBeNull()
  for (const text of TEXTS) expect([text, linear?.test(text)]).toEqual([text, expression.test(text)])
  expect(String(linear)).toBe(pattern)
})

it.each([
  '^a*$',
  '^[a-z]+!$',
  '^.{1,40}$',
  '^a*b',
  '^a?$',
  '^(a?){30}a{30}$',
  '^(a|aa)+$',
  '^a*a*a*a*a*a*$',
  '^a?a?a?a?a?a?b',
  '^a*a{400}$',
  '^a*a{900}$',
])('%j matches a long text in linear time', (pattern) => {
  const linear = compileLinear(pattern)
  for (const length of [100, 9_999, 99_999, 500_000]) {
    const text = `${'a'.repeat(length)}!`
    expect(linear?.test(text)).toBe(/^\^\[a-z\]/.test(pattern))
  }
})

it.each(REFUSED)('%j is refused: it is invalid, needs backtracking, or has another meaning in RE2', (pattern) => {
  expect(compileLinear(pattern)).toBeNull()
})

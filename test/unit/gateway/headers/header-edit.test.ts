import { expect, it } from 'vitest'
import { compileHeaderEdit, editHeaders } from '../../../../src/gateway/headers/header-edit.ts'
import type { HeaderField, HeaderTransform } from '../../../../src/boundary/plan/transform-plan.ts'

const field = (name: string, value: string): HeaderField => ({ name, value })

function edited(lines: string, transform: HeaderTransform, secrets: readonly HeaderField[] = []): string {
  const edit = compileHeaderEdit(transform, secrets)
  return edit === null ? lines : editHeaders(edit, lines)
}

const LINES = 'Accept: a\r\nX-One: 1\r\nx_one: 2\r\nX-ONE: 3\r\nX-One-More: 4\r\n'

it('changes nothing without fields', () => {
  expect(compileHeaderEdit({})).toBeNull()
  expect(compileHeaderEdit({ set: [], add: [], remove: [] }, [])).toBeNull()
})

it('removes all headers of a name, with any case and with underscores', () => {
  expect(edited(LINES, { remove: ['x-One'] })).toBe('Accept: a\r\nX-One-More: 4\r\n')
  expect(edited(LINES, { remove: ['X_ONE'] })).toBe('Accept: a\r\nX-One-More: 4\r\n')
})

it('removes, then sets, then adds', () => {
  const transform = {
    remove: ['Accept'],
    set: [field('X-One', 'set')],
    add: [field('X-One', 'added'), field('Accept', 'b')],
  }
  expect(edited(LINES, transform)).toBe('X-One-More: 4\r\nX-One: set\r\nX-One: added\r\nAccept: b\r\n')
})

it('adds a header beside those of the same name', () => {
  expect(edited('X-One: 1\r\n', { add: [field('X-One', '2')] })).toBe('X-One: 1\r\nX-One: 2\r\n')
})

it('lets secrets replace what clients and the transformation set', () => {
  const transform = { set: [field('X_Secret', 'public')], add: [field('x-secret', 'public'), field('X-Other', 'o')] }
  const lines = edited('X-Secret: forged\r\nX_secret: forged\r\n', transform, [field('X-Secret', 'real')])
  expect(lines).toBe('X-Other: o\r\nX-Secret: real\r\n')
})

it('takes names and values literally', () => {
  const odd = "!#$%&'*+.^_`|~"
  expect(edited(`${odd}: 1\r\nX$y: 2\r\nXay: 3\r\n`, { remove: [odd, 'x.y', 'x$y'] })).toBe('Xay: 3\r\n')
  expect(edited('', { add: [field('X', "$& $1 $` $' $$")] })).toBe("X: $& $1 $` $' $$\r\n")
  expect(edited('A: X-One: 1\r\nB: \u0085X-One: 1\r\n', { remove: ['x-one'] })).toBe(
    'A: X-One: 1\r\nB: \u0085X-One: 1\r\n',
  )
})

it.each([
  ['X\r\nY', 'a'],
  ['X', 'a\r\nY: b'],
  ['X', 'a\nb'],
  ['X', '\u{10a}'],
  ['', 'a'],
  ['X ', 'a'],
])('throws for a header that cannot be sent: %j %j', (name, value) => {
  expect(() => compileHeaderEdit({ add: [field(name, value)] })).toThrow('invalid character')
  expect(() => compileHeaderEdit({}, [field(name, value)])).toThrow('invalid character')
})

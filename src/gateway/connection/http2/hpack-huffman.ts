/**
 * The Huffman code of HPACK (RFC 7541, appendix B). The code is canonical, so that the lengths of its codes define it.
 *
 * Texts are read four bits at a time: no code is shorter than five bits, so that a step completes one symbol at most.
 */

const SYMBOLS = 256
const END_OF_STRING = 256
const END_OF_STRING_BITS = 30
/** Longer padding is an error (5.2). */
const PADDING_BITS_MAX = 7
const NIBBLE_BITS = 4
const NIBBLES = 16

/** Bits of the code of each symbol, 16 in a row. */
// prettier-ignore
const BITS = Uint8Array.of(
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
  28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
  6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
  5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
  7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
  15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
  6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
  20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
  24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
  22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
  21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
  26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
  19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
  20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
  26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
)

/** A step: the next state, a symbol (from bit 8 on), and what it does. */
const STATE_MASK = 0xff
const SYMBOL_SHIFT = 8
const EMITS = 1 << 16
const FAILS = 1 << 17

/** The states are the inner nodes of the tree; 0 is its root. */
interface Machine {
  readonly steps: Uint32Array
  /** 1: a text may end in this state. */
  readonly mayEnd: Uint8Array
}

const MACHINE = createMachine()

/** Decodes `from[start]` to `from[end - 1]` into `into`, which has room for 8 / 5 of the bytes. Returns the length; -1 for an invalid text. */
export function decodeHuffman(from: Uint8Array, start: number, end: number, into: Uint8Array): number {
  const { steps, mayEnd } = MACHINE
  let state = 0
  let length = 0
  for (let index = start; index < end; index++) {
    const byte = from[index]!
    let step = steps[state * NIBBLES + (byte >> NIBBLE_BITS)]!
    if (step >= FAILS) return -1
    if (step >= EMITS) into[length++] = (step >> SYMBOL_SHIFT) & 0xff
    step = steps[(step & STATE_MASK) * NIBBLES + (byte & 0xf)]!
    if (step >= FAILS) return -1
    if (step >= EMITS) into[length++] = (step >> SYMBOL_SHIFT) & 0xff
    state = step & STATE_MASK
  }
  return mayEnd[state] === 1 ? length : -1
}

function createMachine(): Machine {
  const children = createTree()
  const steps = new Uint32Array(children.length * NIBBLES)
  for (let state = 0; state < children.length; state++) {
    for (let nibble = 0; nibble < NIBBLES; nibble++) steps[state * NIBBLES + nibble] = stepOf(children, state, nibble)
  }
  const mayEnd = new Uint8Array(children.length)
  // The padding consists of the first bits of the code for the end, which are ones.
  for (let state = 0, bits = 0; bits <= PADDING_BITS_MAX; bits++) {
    mayEnd[state] = 1
    state = children[state]![1]
  }
  return { steps, mayEnd }
}

type Children = [zero: number, one: number]

/** A symbol as a child; the other children are states. */
function leafOf(symbol: number): number {
  return -1 - symbol
}

function createTree(): readonly Children[] {
  const bits = [...BITS, END_OF_STRING_BITS]
  const symbols = bits.map((_, symbol) => symbol).toSorted((a, b) => bits[a]! - bits[b]! || a - b)
  const tree: Children[] = [[0, 0]]
  let code = 0
  let length = 0
  for (const symbol of symbols) {
    code *= 2 ** (bits[symbol]! - length)
    length = bits[symbol]!
    let state = 0
    for (let bit = length - 1; bit > 0; bit--) {
      const side = Math.floor(code / 2 ** bit) % 2
      if (tree[state]![side] === 0) tree[state]![side] = tree.push([0, 0]) - 1
      state = tree[state]![side]!
    }
    tree[state]![code % 2] = leafOf(symbol)
    code++
  }
  if (tree.length !== SYMBOLS) throw new Error('the Huffman code is incomplete')
  return tree
}

function stepOf(tree: readonly Children[], from: number, nibble: number): number {
  let state = from
  let emitted = 0
  for (let bit = NIBBLE_BITS - 1; bit >= 0; bit--) {
    const child = tree[state]![(nibble >> bit) & 1]!
    if (child >= 0) state = child
    else {
      if (child === leafOf(END_OF_STRING)) return FAILS
      emitted = EMITS | ((-1 - child) << SYMBOL_SHIFT)
      state = 0
    }
  }
  return emitted | state
}

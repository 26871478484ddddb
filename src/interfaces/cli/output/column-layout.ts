/**
 * Chooses the columns of a table that fit a width.
 *
 * Ids, names, numbers, times and states are shown whole or not at all: half an id is of no use. Texts are shortened, the widest
 * first. Columns that still do not fit are hidden: those without a value first, then from the last to the first.
 */

export interface ColumnNeed {
  readonly name: string
  /** Width of the widest cell or the heading. */
  readonly width: number
  /** Is never shortened. */
  readonly isWhole: boolean
  /** No row has a value. */
  readonly isEmpty: boolean
}

export interface ShownColumn {
  readonly name: string
  readonly width: number
}

export interface ColumnLayout {
  readonly shown: readonly ShownColumn[]
  readonly hidden: readonly string[]
}

export interface LayoutOptions {
  readonly columns: number
  /** Names of the columns to show first of all, the most important first. The first is shown even if it is wider than the terminal. */
  readonly first: readonly string[]
}

export const GAP = '  '
/** Shorter texts say too little. */
const TEXT_MIN = 12

export function layOutColumns(needs: readonly ColumnNeed[], { columns, first }: LayoutOptions): ColumnLayout {
  const chosen = new Set<string>()
  let used = -GAP.length
  for (const need of byImportance(needs, first)) {
    const least = GAP.length + leastWidth(need)
    if (chosen.size > 0 && used + least > columns) continue
    chosen.add(need.name)
    used += least
  }
  const kept = needs.filter(({ name }) => chosen.has(name))
  const widths = shrink(kept, columns - GAP.length * (kept.length - 1))
  return {
    shown: kept.map(({ name }, index) => ({ name, width: widths[index] ?? 0 })),
    hidden: needs.filter(({ name }) => !chosen.has(name)).map(({ name }) => name),
  }
}

function byImportance(needs: readonly ColumnNeed[], first: readonly string[]): readonly ColumnNeed[] {
  const rank = ({ name, isEmpty }: ColumnNeed): number => {
    const at = first.indexOf(name)
    return at >= 0 ? at : first.length + (isEmpty ? 1 : 0)
  }
  return needs.toSorted((one, other) => rank(one) - rank(other))
}

function leastWidth({ width, isWhole }: ColumnNeed): number {
  return isWhole ? width : Math.min(width, TEXT_MIN)
}

/** Shortens the widest texts to a common limit, the highest one with which all columns fit. */
function shrink(needs: readonly ColumnNeed[], room: number): readonly number[] {
  const widthsAt = (limit: number): readonly number[] =>
    needs.map((need) => Math.max(leastWidth(need), Math.min(need.width, limit)))
  const fits = (limit: number): boolean => widthsAt(limit).reduce((sum, width) => sum + width, 0) <= room
  let low = TEXT_MIN
  let high = Math.max(TEXT_MIN, ...needs.map(({ width }) => width))
  if (fits(high)) return widthsAt(high)
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (fits(middle)) low = middle
    else high = middle - 1
  }
  return widthsAt(low)
}

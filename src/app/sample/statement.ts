/**
 * Generates a sample account statement one day at a time while it is read, so that a year needs no more memory than a day.
 *
 * The same account and day always yield the same entries, so that two downloads can be compared.
 */

const DAY_MS = 86_400_000
const DAYS_MAX = 366
const ENTRIES_PER_DAY = 24

export function* statementLines(account: string, from: string, to: string): Generator<string> {
  yield 'date,reference,amount,currency\n'
  const startMs = Date.parse(from)
  const days = Math.min(DAYS_MAX, Math.floor((Date.parse(to) - startMs) / DAY_MS))
  for (let day = 0; day < days; day++) {
    const date = new Date(startMs + day * DAY_MS).toISOString().slice(0, 10)
    yield formatDay(account, date)
  }
}

function formatDay(account: string, date: string): string {
  let lines = ''
  for (let entry = 0; entry < ENTRIES_PER_DAY; entry++) {
    const cents = (hashOf(`${account}${date}${entry}`) % 500_000) - 150_000
    const amount = `${cents < 0 ? '-' : ''}${Math.floor(Math.abs(cents) / 100)}.${String(Math.abs(cents) % 100).padStart(2, '0')}`
    lines += `${date},M-${date}-${String(entry).padStart(2, '0')},${amount},EUR\n`
  }
  return lines
}

/** An FNV-1a hash, which is good enough for sample data. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return hash >>> 0
}

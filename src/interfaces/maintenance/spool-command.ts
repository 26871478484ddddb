/**
 * `tollgate spool inspect DIR`: prints the content of a spool and its damage.
 *
 * Reads only; the service may run. Exit codes: 0 intact, 1 damaged, 2 refused.
 */

import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseCommand, runCommand } from './folder-command.ts'
import { DAMAGED_FOLDER } from '../../storage/spool/damaged-segments.ts'
import { inspectSpool, type InspectedBatch, type InspectedSegment } from '../../storage/spool/inspect-spool.ts'
import { StartRefused } from '../../foundation/runtime/start-refused.ts'

const EXIT_DAMAGED = 1
const OPTIONS = { batches: { type: 'boolean' }, help: { type: 'boolean' } } as const
const HELP = `tollgate spool inspect DIR [--batches]

Prints the segments of a spool: records with their numbers and times, definitions, damage. DIR is a data folder, its
spool folder, the folder of one thread in it, or one segment. --batches prints each batch. Changes nothing; the service
may run. Exit codes: 0 intact, 1 damaged, 2 refused.
`

await runCommand((args) => {
  run(args)
  return ''
})

function run(args: string[]): void {
  const { values, positionals } = parseCommand(args, OPTIONS, HELP)
  if (values.help === true) return print(HELP)
  const [command, folder, ...rest] = positionals
  if (command !== 'inspect') throw new StartRefused(`the only spool command is inspect\n\n${HELP}`)
  if (folder === undefined || rest.length > 0) throw new StartRefused(`spool inspect takes exactly one DIR\n\n${HELP}`)
  const path = resolve(folder)
  let segments = 0
  let damages = 0
  let batches = ''
  const found = inspectSpool(path, {
    onBatch(batch) {
      if (values.batches === true) batches += batchText(batch)
    },
    onSegment(segment) {
      segments++
      damages += segment.damage.length
      print(segmentText(segment) + batches)
      batches = ''
    },
  })
  if (found === null) throw new StartRefused(`${path} is neither a tollgate data folder, nor a spool, nor a segment`)
  const kept = keptIn(path)
  if (kept > 0) print(`${kept} damaged segments from earlier are kept in ${DAMAGED_FOLDER}/\n`)
  print(`${segments} segments, ${found.isIntact ? 'intact' : `damaged in ${damages} places`}\n`)
  if (!found.isIntact) process.exitCode = EXIT_DAMAGED
}

function segmentText(segment: InspectedSegment): string {
  const { path, bytes, header, batches, records, definitions, range, fromMs, toMs, truncatedBytes, damage } = segment
  const facts = [
    `${bytes} bytes`,
    header === null ? 'no header' : header.firstRecord === null ? 'format 1' : 'format 2',
    header?.isReleased === true ? `released up to record ${header.firstRecord}` : null,
    header !== null && header.continues > 0 ? `continues ${header.continues}` : null,
    `${batches} batches`,
    `${records} records${range === null ? '' : ` (${range.from} to ${range.to - 1})`}`,
    `${definitions} definitions`,
    fromMs === null || toMs === null ? null : `${timeText(fromMs)} to ${timeText(toMs)}`,
    segment.isEnded ? 'ended' : null,
    truncatedBytes > 0 ? `${truncatedBytes} bytes of an incomplete last batch` : null,
  ]
  const lines = [facts.filter((fact) => fact !== null).join(', '), ...damage.map((text) => `DAMAGED: ${text}`)]
  return `${path}\n${lines.map((line) => `  ${line}\n`).join('')}`
}

function batchText({ offset, records, firstRecord, fromMs, toMs }: InspectedBatch): string {
  const range = firstRecord === null ? '' : ` (${firstRecord} to ${firstRecord + records - 1})`
  return `    at ${offset}: ${records} records${range}, ${timeText(fromMs)} to ${timeText(toMs)}\n`
}

/** Formats a time as ISO 8601; an invalid time is printed as a number. */
function timeText(timeMs: number): string {
  const time = new Date(timeMs)
  return Number.isNaN(time.getTime()) ? String(timeMs) : time.toISOString()
}

function keptIn(path: string): number {
  const kept = [join(path, DAMAGED_FOLDER), join(path, 'spool', DAMAGED_FOLDER)].find((folder) => existsSync(folder))
  return kept === undefined ? 0 : readdirSync(kept).length
}

function print(text: string): void {
  process.stdout.write(text)
}

/** `tollgate risks tail`, `tollgate requests tail` and `tollgate programmes watch`: print events until Ctrl-C or the end. */

import type { Command } from 'commander'
import { CommandFailed, EXIT_NEGATIVE } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { addOutputOption, type OutputOptions } from '../output/output-option.ts'
import type { Row } from '../output/table.ts'
import { openSession } from '../session/session.ts'
import { createEventPrinter } from '../watch/event-printer.ts'
import { requestLine, riskLine, stepLine } from '../watch/event-lines.ts'
import { followStream } from '../watch/follow-stream.ts'

type StreamOptions = OutputOptions & Readonly<Record<string, string | undefined>>

interface Tail {
  readonly path: string
  readonly filters: readonly string[]
  /** Name of the events. */
  readonly event: string
  readonly nameField: string
  readonly toLine: (event: Row, io: Io) => string
  readonly isOnRiskPort: boolean
}

const RISKS: Tail = {
  path: '/v1/events/subscribe',
  filters: ['category', 'severity', 'api'],
  event: 'risk',
  nameField: 'riskId',
  toLine: (event, { out }) => riskLine(event, out),
  isOnRiskPort: true,
}
const REQUESTS: Tail = {
  path: '/v1/requests',
  filters: ['api', 'customer', 'outcome', 'revision'],
  event: 'request',
  nameField: 'requestId',
  toLine: (event, { out }) => requestLine(event, out),
  isOnRiskPort: false,
}

export function addRiskTail(command: Command, io: Io): void {
  const tail = command.command('tail').description('Prints risks as they happen, until Ctrl-C.')
  tail.option('--last-event-id <id>', 'continues after an event of the last 24 hours')
  addTail(tail, RISKS, io)
}

export function addRequestTail(command: Command, io: Io): void {
  const tail = command.command('tail')
  tail.description(
    'Prints calls as they are recorded, until Ctrl-C: those that REQUEST_LOG selects, at most 100 per second.',
  )
  addTail(tail, REQUESTS, io)
}

function addTail(command: Command, tail: Tail, io: Io): void {
  for (const name of tail.filters) command.option(`--${name} <value>`)
  addOutputOption(command).action((options: StreamOptions) => runTail(tail, options, io))
}

async function runTail({ path, filters, toLine, ...tail }: Tail, options: StreamOptions, io: Io): Promise<void> {
  const session = await openSession(io, options.context)
  const query = new URLSearchParams(
    filters.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])),
  )
  const { lastEventId } = options
  const print = await createEventPrinter({
    format: options.output,
    io,
    toLine: (event) => toLine(event, io),
    nameField: tail.nameField,
  })
  await followStream(
    {
      session,
      path: query.size === 0 ? path : `${path}?${query}`,
      ...(tail.isOnRiskPort && { origin: (await session.service()).riskUrl }),
      ...(lastEventId !== undefined && { lastEventId }),
      onEvent({ event, data }) {
        if (event === tail.event) print(JSON.parse(data) as Row)
        else if (event === 'skipped') io.err.write(`${(JSON.parse(data) as { count: number }).count} more calls\n`)
      },
    },
    io,
  )
}

interface Progress {
  readonly status: string
  readonly steps: readonly Row[]
}

export function addProgrammeWatch(command: Command, io: Io): void {
  const watch = command.command('watch').description('Prints the steps of a programme while they run.').argument('<id>')
  addOutputOption(watch).action(async (id: string, options: OutputOptions) => {
    const session = await openSession(io, options.context)
    const printed = new Map<unknown, unknown>()
    let status = ''
    const path = `/v1/programmes/${encodeURIComponent(id)}/progress`
    const print = await createEventPrinter({
      format: options.output,
      io,
      toLine: (step) => stepLine(step, io.out),
      nameField: 'name',
    })
    const onEvent = ({ data }: { readonly data: string }): boolean => {
      const progress = JSON.parse(data) as Progress
      for (const step of progress.steps) {
        const isNew = step['startedAt'] !== null && printed.get(step['number']) !== step['status']
        if (isNew) print(step)
        printed.set(step['number'], step['status'])
      }
      if (progress.status === 'waiting' && status !== 'waiting') io.err.write('The programme waits for an approval.\n')
      status = progress.status
      return status === 'succeeded' || status === 'failed'
    }
    await followStream({ session, path, onEvent }, io)
    if (status === 'failed') throw new CommandFailed(`The programme ${id} has failed.`, EXIT_NEGATIVE)
  })
}

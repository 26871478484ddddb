/** `tollgate dev`: serves one document in front of a backend, with limits and records as in production. */

import { readFile } from 'node:fs/promises'
import type { BuildCommand } from '../command-entry.ts'
import type { DevService } from '../dev/dev-service.ts'
import { watchFiles } from '../dev/watch-files.ts'
import { CommandFailed } from '../exit-codes.ts'
import { addExamples } from '../help-text.ts'
import type { Io } from '../io.ts'
import { paint } from '../output/paint.ts'
import type { Row } from '../output/table.ts'
import { checkAddress } from '../session/http.ts'
import { requestLine } from '../watch/event-lines.ts'
import { followStream } from '../watch/follow-stream.ts'

interface Options {
  readonly backend: string
  readonly opensla?: string
}

export const buildDev: BuildCommand = (command, io) => {
  command
    .argument('<openapi>', 'an OpenAPI document in YAML or JSON')
    .requiredOption('--backend <url>', 'the address of your service')
    .option('--opensla <file>', 'a declaration of limits, quotas and prices')
    .action((file: string, options: Options) => runDev(file, options, io))
  addExamples(command, [
    [
      'tollgate dev openapi.yaml --backend http://localhost:3000',
      'serves the document, and prints a key, a token and each call',
    ],
  ])
}

async function runDev(file: string, { backend, opensla }: Options, io: Io): Promise<void> {
  const interrupted = io.interruptible()
  const address = checkAddress(backend, '--backend')
  const document = await readBytes(file)
  const declaration = opensla === undefined ? null : await readBytes(opensla)
  const { startDevService } = await import('../dev/dev-service.ts')
  io.err.write('Starting a service in a temporary folder …\n')
  const service = await startDevService({ file, document, declaration, backend: address, io })
  const contents = new Map([[file, document]])
  if (opensla !== undefined && declaration !== null) contents.set(opensla, declaration)
  const stopWatching = watchFiles(contents, (changed, bytes) => reload(service, { changed, bytes, file }, io))
  try {
    if (interrupted.aborted) return
    // The stream shows calls that come after it is open.
    const onOpen = (): void => io.out.write(introduction(service, io))
    const path = `/v1/requests?api=${service.api}`
    await followStream({ session: service.session, path, onOpen, onEvent: printer(service, io) }, io)
  } finally {
    stopWatching()
    io.err.write('Stopping the service …\n')
    await service.stop()
  }
}

async function readBytes(file: string): Promise<Buffer> {
  return readFile(file).catch((cause: unknown) => {
    throw new CommandFailed(`${file} cannot be read: ${(cause as Error).message}`)
  })
}

function introduction({ gatewayUrl, api, baseUrl, consumer, endpoints }: DevService, { out }: Io): string {
  const bold = (text: string): string => (out.colour ? paint('bold', text) : text)
  const [first = ''] = [...endpoints.values()].filter((endpoint) => /^GET [^{]*$/.test(endpoint))
  const path = first.slice('GET '.length) || '/'
  return `
  ${bold('gateway')}   ${gatewayUrl}/${api}
  ${bold('platform')}  ${baseUrl}
  ${bold('API key')}   ${consumer.apiKey}
  ${bold('token')}     ${consumer.token}

  curl ${gatewayUrl}/${api}${path} -H 'x-api-key: ${consumer.apiKey}'

Calls appear below. Changes of the files are deployed at once. Press Ctrl-C to stop.

`
}

interface Change {
  readonly changed: string
  readonly bytes: Buffer
  /** The OpenAPI document; other files are declarations. */
  readonly file: string
}

/** A document that the service refuses changes nothing: the revision before it keeps serving. */
async function reload({ deploy, declare }: DevService, { changed, bytes, file }: Change, { err }: Io): Promise<void> {
  try {
    if (changed === file) err.write(`${changed} changed: revision ${await deploy(bytes)} serves\n`)
    else {
      await declare(bytes)
      err.write(`${changed} changed: the declaration is in force\n`)
    }
  } catch (cause) {
    err.write(`${changed} changed, but was not deployed: ${(cause as Error).message}\n`)
  }
}

function printer({ endpoints }: DevService, { out, err }: Io) {
  return ({ event, data }: { readonly event: string; readonly data: string }): void => {
    if (event === 'request') out.write(`${requestLine(JSON.parse(data) as Row, out, endpoints)}\n`)
    else if (event === 'skipped') err.write(`${(JSON.parse(data) as { count: number }).count} more calls\n`)
  }
}

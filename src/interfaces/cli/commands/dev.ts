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
  readonly backend?: string
  readonly port?: number
  readonly opensla?: string
}

const PORT_MAX = 65_535

export const buildDev: BuildCommand = (command, io) => {
  command
    .argument('<openapi>', 'an OpenAPI document in YAML or JSON')
    .option('--backend <url>', 'the address of your service; default: the first server of the document')
    .option('--port <number>', 'the port of the gateway; default: that of the last start, or a free one', readPort)
    .option('--opensla <file>', 'a declaration of limits, quotas and prices')
    .action((file: string, options: Options) => runDev(file, options, io))
  addExamples(command, [
    [
      'tollgate dev openapi.yaml --backend http://localhost:3000',
      'serves the document, and prints a key, a token and each call',
    ],
    ['tollgate dev openapi.yaml --port 8080', 'calls the first server of the document'],
  ])
}

async function runDev(file: string, { backend, port, opensla }: Options, io: Io): Promise<void> {
  const interrupted = io.interruptible()
  const address = backend === undefined ? null : checkAddress(backend, '--backend')
  const document = await readBytes(file)
  const declaration = opensla === undefined ? null : await readBytes(opensla)
  const { startDevService } = await import('../dev/dev-service.ts')
  const service = await startDevService({ file, document, declaration, backend: address, port: port ?? null, io })
  const contents = new Map([[file, document]])
  if (opensla !== undefined && declaration !== null) contents.set(opensla, declaration)
  const stopWatching = watchFiles(
    contents,
    (changed, bytes) => reload(service, { changed, bytes, file }, io),
    (missing) => io.err.write(`${missing} cannot be read: what was deployed last keeps serving\n`),
  )
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

function readPort(text: string): number {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port > 0 && port <= PORT_MAX) return port
  throw new CommandFailed(`--port must be a number from 1 to ${PORT_MAX}.`)
}

async function readBytes(file: string): Promise<Buffer> {
  return readFile(file).catch((cause: unknown) => {
    throw new CommandFailed(`${file} cannot be read: ${(cause as Error).message}`)
  })
}

function introduction(service: DevService, { out }: Io): string {
  const { gatewayUrl, api, baseUrl, backend, access, subscription, context, ownerLink, endpoints } = service
  const row = (name: string, value: string): string =>
    `  ${out.colour ? paint('bold', name) : name}${' '.repeat(11 - name.length)}${value}\n`
  const [first = ''] = [...endpoints().values()].filter((endpoint) => /^GET [^{]*$/.test(endpoint))
  const path = first.slice('GET '.length) || '/'
  const rows = [
    row('gateway', `${gatewayUrl}/${api}`),
    row('backend', backend),
    row('platform', baseUrl),
    row('API key', access.apiKey),
    row('token', access.token),
    row('client id', access.clientId),
    row('console', `${baseUrl}/console/`),
    ...(ownerLink === null ? [] : [row('owner', `${ownerLink} (sets the password, once)`)]),
  ]
  const commands = ['requests list', `credentials list ${subscription} -o json`]
  return `
${rows.join('')}
  curl ${gatewayUrl}/${api}${path} -H 'x-api-key: ${access.apiKey}'
${context === null ? '' : commands.map((command) => `  tollgate ${command} --context ${context}\n`).join('')}
Calls appear below. Changes of the files are deployed at once, also those that break callers. The key and the ports
are the same after a restart in this folder. Press Ctrl-C to stop.

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
    if (changed === file) {
      const { revision, token } = await deploy(bytes)
      err.write(`${changed} changed: revision ${revision} serves\n`)
      if (token !== null) err.write(`It has other scopes. This token has them:\n${token}\n`)
    } else {
      await declare(bytes)
      err.write(`${changed} changed: the declaration is in force\n`)
    }
  } catch (cause) {
    err.write(`${changed} changed, but was not deployed: ${(cause as Error).message}\n`)
  }
}

function printer({ endpoints }: DevService, { out, err }: Io) {
  return ({ event, data }: { readonly event: string; readonly data: string }): void => {
    if (event === 'request') out.write(`${requestLine(JSON.parse(data) as Row, out, endpoints())}\n`)
    else if (event === 'skipped') err.write(`${(JSON.parse(data) as { count: number }).count} more calls\n`)
  }
}

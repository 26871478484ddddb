/** `tollgate proxies deploy` and `rollback`: stage a revision and, if asked for, activate it. */

import type { Command } from 'commander'
import { CommandFailed } from '../exit-codes.ts'
import { deriveApiName } from '../resources/api-name.ts'
import type { Io } from '../io.ts'
import { addOutputOption, type OutputOptions } from '../output/output-option.ts'
import { toPlain } from '../output/plain-text.ts'
import { printResult, type OutputFormat } from '../output/print-result.ts'
import { readInput } from '../resources/request-body.ts'
import { createApiClient, type ApiClient } from '../session/api-client.ts'
import { openSession } from '../session/session.ts'

interface DeployOptions extends OutputOptions {
  readonly api?: string
  readonly backend?: string
  readonly activate?: true
}

interface Proxy {
  readonly id: string
  readonly api: string
  readonly warnings: readonly string[]
}

export function addProxyCommands(command: Command, io: Io): void {
  const deploy = command
    .command('deploy')
    .description('Stages a document as the next revision of its API.')
    .argument('<file>', 'an OpenAPI document in YAML or JSON; - for standard input')
    .option('--api <name>', 'name of the API (default: from the title and the version of the document)')
    .option('--backend <url>', 'address of the backend (default: the first server of the document)')
    .option('--activate', 'make the revision serve at once')
  addOutputOption(deploy).action((file: string, options: DeployOptions) => deployFile(file, options, io))

  const rollback = command
    .command('rollback')
    .description('Makes an earlier revision serve again.')
    .argument('<id>', 'id of the deployment')
    .requiredOption('--to <revision>', 'number of a revision that is kept')
  addOutputOption(rollback).action(async (id: string, { to, ...options }: OutputOptions & { readonly to: string }) => {
    const fromRevision = Number(to)
    if (!Number.isInteger(fromRevision) || fromRevision < 0)
      throw new CommandFailed('--to must be the number of a revision.')
    const client = createApiClient(await openSession(io, options.context))
    const path = `/v1/proxies/${encodeURIComponent(id)}`
    const { api } = (await client.call({ method: 'GET', path })) as Proxy
    await client.call({ method: 'POST', path: '/v1/proxies', body: JSON.stringify({ api, fromRevision }) })
    await printProxy(await activate(client, id), options.output, io)
  })
}

async function deployFile(file: string, options: DeployOptions, io: Io): Promise<void> {
  const bytes = await readInput(file, io)
  const api = options.api ?? (await deriveApiName(bytes, file))
  const client = createApiClient(await openSession(io, options.context))
  const { backend: url } = options
  const body = { api, specification: bytes.toString('base64'), ...(url !== undefined && { backend: { url } }) }
  const staged = (await client.call({ method: 'POST', path: '/v1/proxies', body: JSON.stringify(body) })) as Proxy
  await printProxy(options.activate ? await activate(client, staged.id) : staged, options.output, io)
}

async function activate(client: ApiClient, id: string): Promise<Proxy> {
  return (await client.call({ method: 'POST', path: `/v1/proxies/${encodeURIComponent(id)}/activate` })) as Proxy
}

/** The format name has no place for warnings, which must not be missed. */
async function printProxy(proxy: Proxy, format: OutputFormat, io: Io): Promise<void> {
  if (format === 'name') for (const warning of proxy.warnings) io.err.write(`${toPlain(warning)}\n`)
  await printResult(proxy, format, io)
}

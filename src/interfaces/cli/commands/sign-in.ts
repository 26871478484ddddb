/** `tollgate login`, `logout` and `whoami`. */

import type { Command } from 'commander'
import type { BuildCommand } from '../command-entry.ts'
import { CommandFailed } from '../exit-codes.ts'
import { addExamples, addSubcommandExamples, type Example } from '../help-text.ts'
import type { Io } from '../io.ts'
import { addOutputOption, type OutputOptions } from '../output/output-option.ts'
import { printResult } from '../output/print-result.ts'
import { createApiClient } from '../session/api-client.ts'
import { contextPath, openContexts, withContext, type Context } from '../session/contexts.ts'
import { discover, type Service } from '../session/discovery.ts'
import { checkAddress } from '../session/http.ts'
import { readSecret } from '../session/secret-input.ts'
import { clientForm, DEFAULT_URL, openSession } from '../session/session.ts'
import { readClaims, requestTokens, revokeToken, type Tokens } from '../session/tokens.ts'

interface LoginOptions {
  readonly device?: true
  readonly clientId?: string
  readonly tenant: string
  readonly name?: string
  /** Absent unless `--no-browser` is given: commander sets its default before the options of a lazy command exist. */
  readonly browser?: false
}

export const buildLogin: BuildCommand = (command, io) => {
  command
    .argument('[url]', `the platform address of the service (default: TOLLGATE_URL, or ${DEFAULT_URL})`)
    .option('--device', 'show a code to enter in a browser on another machine')
    .option(
      '--client-id <id>',
      'sign in as a client; its secret is TOLLGATE_CLIENT_SECRET, or a line on standard input',
    )
    .option('--tenant <name>', 'id or name of the organisation to sign in to', 'default')
    .option('--name <context>', 'name of the context (default: the host of the service)')
    .option('--no-browser', 'print the address instead of opening the browser')
    .action((url: string | undefined, options: LoginOptions) => login(url, options, io))
  addExamples(command, [
    ['tollgate login https://platform.example', 'signs you in with your browser'],
    ['tollgate login --device --tenant acme', 'signs you in from a machine without a browser'],
    ['tollgate login --client-id "$ID" < secret.txt', 'signs a build in'],
  ])
}

async function login(url: string | undefined, options: LoginOptions, io: Io): Promise<void> {
  const store = openContexts(contextPath(io.env))
  // A file that cannot be read is found before the sign-in.
  await store.read()
  const given = url ?? io.env['TOLLGATE_URL']
  const baseUrl = checkAddress(given || DEFAULT_URL, 'The address of the service')
  warnOfPlainText(baseUrl, io)
  const service = await discover(baseUrl, io)
  const { tokens, ...client } = await signIn(service, options, io)
  const { gatewayUrl } = service
  const name = options.name ?? new URL(baseUrl).host
  await store.update((file) => withContext(file, { name, baseUrl, gatewayUrl, ...client, ...tokens }))
  io.err.write(`Signed in to ${baseUrl} (context ${name}).\n`)
}

async function signIn({ gatewayUrl }: Service, { clientId, tenant, device, browser }: LoginOptions, io: Io) {
  if (clientId !== undefined) {
    const clientSecret = io.env['TOLLGATE_CLIENT_SECRET'] || (await readSecret('Client secret', io))
    return { clientId, clientSecret, tokens: await requestTokens(gatewayUrl, clientForm(clientId, clientSecret)) }
  }
  const own = `tollgate-cli.${tenant}`
  const tokens: Tokens = device
    ? await (await import('../session/device-login.ts')).loginOnDevice({ gatewayUrl, clientId: own, io })
    : await (
        await import('../session/browser-login.ts')
      ).loginInBrowser({ gatewayUrl, clientId: own, io, opensBrowser: browser !== false && io.err.isTerminal })
  return { clientId: own, tokens }
}

function warnOfPlainText(baseUrl: string, { err }: Io): void {
  const { protocol, hostname } = new URL(baseUrl)
  if (protocol === 'http:' && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)) {
    err.write('tollgate: warning: the address is plain http. Others on the network can read the credentials.\n')
  }
}

export const buildLogout: BuildCommand = (command, io) => {
  command
    .argument('[context]', 'the context to leave (default: the current one)')
    .action((name: string | undefined) => logout(name, io))
  addExamples(command, [['tollgate logout', 'signs you out and removes the tokens from this machine']])
}

async function logout(name: string | undefined, io: Io): Promise<void> {
  const store = openContexts(contextPath(io.env))
  let left: Context | undefined
  await store.update((file) => {
    left = file.contexts.find((context) => context.name === (name ?? file.current))
    if (left === undefined) throw new CommandFailed('You are not signed in.')
    const contexts = file.contexts.filter((context) => context !== left)
    return { current: file.current === left.name ? null : file.current, contexts }
  })
  if (left !== undefined) await revoke(left, io)
}

/** The tokens are gone from this machine whether or not the service can be reached. */
async function revoke({ name, gatewayUrl, clientId, clientSecret, refreshToken, accessToken }: Context, { err }: Io) {
  const client = { client_id: clientId, ...(clientSecret !== undefined && { client_secret: clientSecret }) }
  try {
    await revokeToken(gatewayUrl, { token: refreshToken ?? accessToken, ...client })
    err.write(`Signed out of ${name}.\n`)
  } catch (cause) {
    err.write(`Removed the tokens of ${name}. The service did not revoke them: ${(cause as Error).message}\n`)
  }
}

export const buildWhoami: BuildCommand = (command, io) => {
  addOutputOption(command).action((options: OutputOptions) => whoami(options, io))
  addExamples(command, [['tollgate whoami', 'shows the service, the organisation and the person or client']])
}

async function whoami({ output, context }: OutputOptions, io: Io): Promise<void> {
  const client = createApiClient(await openSession(io, context))
  const { session } = client
  const { tenant, sub, client_id: clientId, scope, exp } = readClaims(await session.token())
  const me = await client.send({ method: 'GET', path: '/v1/me' })
  const person = me.status === 200 ? (JSON.parse(me.body.toString('utf8')) as Record<string, unknown>) : {}
  const { username, name } = person
  const expiresAt = typeof exp === 'number' ? new Date(exp * 1000).toISOString() : undefined
  const who = {
    url: session.baseUrl,
    context: session.context,
    tenant,
    ...(username === undefined ? {} : { username, name }),
    subject: sub,
    clientId,
    scope,
    expiresAt,
  }
  if (me.status === 401) throw new CommandFailed('The service does not accept the credentials any more.', 1)
  await printResult(who, output, io)
}

export const buildContext: BuildCommand = (command, io) => {
  const store = openContexts(contextPath(io.env))
  addOutputOption(command.command('list').description('Lists the services that you are signed in to.')).action(
    async ({ output }: OutputOptions) => {
      const { current, contexts } = await store.read()
      const items = contexts.map(({ name, baseUrl, clientId }) => ({
        current: name === current ? '*' : '',
        name,
        url: baseUrl,
        clientId,
      }))
      await printResult({ items }, output, io)
    },
  )
  command
    .command('use')
    .description('Makes a context the current one.')
    .argument('<context>')
    .action(async (name: string) => {
      await store.update((file) => {
        if (!file.contexts.some((context) => context.name === name)) {
          throw new CommandFailed(`There is no context ${name}. See: tollgate context list`)
        }
        return { ...file, current: name }
      })
      io.err.write(`The current context is ${name}.\n`)
    })
  addContextExamples(command)
}

function addContextExamples(command: Command): void {
  const examples: readonly Example[] = [
    ['tollgate context list', 'lists the services that you are signed in to'],
    ['tollgate context use platform.example', 'makes later commands call that service'],
  ]
  addExamples(command, examples)
  addSubcommandExamples(command, examples)
}

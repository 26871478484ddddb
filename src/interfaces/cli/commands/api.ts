/** `tollgate api METHOD PATH`: calls any operation, and prints its answer as it is. */

import type { BuildCommand } from '../command-entry.ts'
import { CommandFailed } from '../exit-codes.ts'
import { addExamples } from '../help-text.ts'
import type { Io } from '../io.ts'
import { toJsonText } from '../output/print-result.ts'
import { addBodyOptions, collect } from '../resources/build-resource.ts'
import { buildBody, readInput, type BodyOptions } from '../resources/request-body.ts'
import { createApiClient, refuseProblem } from '../session/api-client.ts'
import { parseJson } from '../session/http.ts'
import { openSession } from '../session/session.ts'

type ApiOptions = BodyOptions & { readonly context?: string; readonly header?: readonly string[] }

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

export const buildApi: BuildCommand = (command, io) => {
  command.argument('<method>', METHODS.join(', ')).argument('<path>', 'a path such as /v1/apis?state=Active')
  addBodyOptions(command)
    .option('-H, --header <name:value>', 'a header; may be repeated', collect)
    .option('--context <name>', 'the context to use instead of the current one')
    .action((method: string, path: string, options: ApiOptions) => callApi(method.toUpperCase(), path, options, io))
  addExamples(command, [
    ['tollgate api GET /v1/apis', 'prints a page of APIs'],
    ['tollgate api POST /v1/consumers -f name=shop -f kind=application', 'creates a consumer'],
    ['tollgate api PUT /v1/policy --input policy.json', 'sends a file as it is'],
  ])
}

async function callApi(method: string, path: string, options: ApiOptions, io: Io): Promise<void> {
  if (!METHODS.includes(method)) throw new CommandFailed(`The method must be one of ${METHODS.join(', ')}.`)
  const client = createApiClient(await openSession(io, options.context))
  const target = URL.canParse(path, client.session.baseUrl) ? new URL(path, `${client.session.baseUrl}/`) : null
  if (!path.startsWith('/') || target?.origin !== new URL(client.session.baseUrl).origin) {
    throw new CommandFailed('The path must start with / and stay on the service.')
  }
  const body = await readBody(options, io)
  const answer = await client.send({
    method,
    path,
    ...(body !== undefined && { body }),
    headers: readHeaders(options.header ?? []),
  })
  refuseProblem(answer)
  const json = io.out.isTerminal ? parseJson(answer) : undefined
  io.out.write(json === undefined ? answer.body : `${toJsonText(json)}\n`)
}

/** A file alone is sent as it is. */
async function readBody(options: ApiOptions, io: Io): Promise<string | Uint8Array | undefined> {
  const { input, field = [], jsonField = [] } = options
  if (input !== undefined && field.length + jsonField.length === 0) return readInput(input, io)
  const body = await buildBody([], {}, options, io)
  return body === undefined ? undefined : JSON.stringify(body)
}

function readHeaders(texts: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf(':')
      const name = text.slice(0, at).trim().toLowerCase()
      if (at < 1 || name === 'authorization') {
        throw new CommandFailed('A header has the form name:value. Authorization is set by the command.')
      }
      return [name, text.slice(at + 1).trim()]
    }),
  )
}

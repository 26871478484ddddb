/** The OAuth server reads targets as URLs. It gets none that this would change. */

import { expect, it } from 'vitest'
import { toResponseFields } from '../../../src/gateway/connection/response-fields.ts'
import { openBackend, openTestGateway } from '../../fixtures/test-gateway.ts'

async function openGateway() {
  const targets: unknown[] = []
  const origin = await openBackend((_, response) => response.end())
  const gateway = await openTestGateway({
    backend: { origin },
    server: {
      oauth(request, response) {
        targets.push(request.url)
        response.start(204, toResponseFields([]))
        response.end()
        return true
      },
    },
  })
  const send = (target: string): Promise<string> =>
    gateway.raw(`GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
  return { targets, send }
}

it.each([
  '/things-v1/oauth2/v2/../../things-v1/oauth2/v2/token',
  '/things-v1/oauth2/v2/./token',
  '/things-v1/oauth2/v2/%2e%2e/token',
  '/things-v1/oauth2/v2/.%2E/token',
  '/things-v1/oauth2/v2/token#fragment',
  '/things-v1/oauth2/v2//token',
  '/things-v1/oauth2/v2/a\\..\\token',
  '/things-v1/oauth2/v2/a%2ftoken',
  '//things-v1/oauth2/v2/token',
  'http://other/things-v1/oauth2/v2/token',
  '*',
])('The target %s is refused before', async (target) => {
  const { targets, send } = await openGateway()
  expect(await send(target)).toMatch(/^HTTP\/1.1 4\d\d /)
  expect(targets).toEqual([])
})

it('Another target arrives as it was sent', async () => {
  const { targets, send } = await openGateway()
  const target = '/things-v1/oauth2/v2/token?a=/../b&c=%2e%2e'
  expect(await send(target)).toMatch(/^HTTP\/1.1 204 /)
  expect(targets).toEqual([target])
})

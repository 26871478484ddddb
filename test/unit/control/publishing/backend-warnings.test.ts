import { expect, it } from 'vitest'
import { toBackend } from '../../../../src/control/publishing/backend-address.ts'
import { backendWarnings } from '../../../../src/control/publishing/backend-warnings.ts'
import type { Deployment } from '../../../../src/control/publishing/proxy-document.ts'

const URL_OF_DOCUMENT = 'https://a.example'
const deploy = (backend: Deployment['backend'], backendSource: Deployment['backendSource']): Deployment => ({
  specification: 'oas_1',
  version: '1.0.0',
  title: 'X',
  major: 1,
  backend,
  backendSource: backendSource!,
  declaredScopes: [],
  allowedScopes: [],
  operationIds: [],
})

it('A backend from the document differs from one with targets, even from one with the same URL as its first', async () => {
  const staged = deploy(toBackend(undefined, URL_OF_DOCUMENT), 'document')
  const warn = (serving: Deployment) => backendWarnings('acme', staged, serving, async () => null)
  const targets = [{ url: URL_OF_DOCUMENT }, { url: 'https://b.example' }]
  const [warning] = await warn(deploy(toBackend({ targets }, null), 'request'))
  expect(warning).toContain('the active revision uses https://a.example, https://b.example.')
  expect(await warn(deploy(toBackend({ url: URL_OF_DOCUMENT }, null), 'request'))).toEqual([])
})

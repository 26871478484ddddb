import { expect, it } from 'vitest'
import { apiOfResource } from '../../../../src/control/identity/resource.ts'

const ADDRESSES = { gatewayUrl: 'https://gateway.example', baseUrl: 'https://platform.example' }

it.each([
  ['https://gateway.example/orders-v1', 'orders-v1'],
  ['https://gateway.example/platform-v1', 'platform-v1'],
  ['https://gateway.example/orders-v1/mcp', 'orders-v1'],
  ['https://gateway.example/mcp', null],
  ['https://platform.example', 'platform-v1'],
  ['https://platform.example/', 'platform-v1'],
  ['https://platform.example/mcp', 'platform-v1'],
  ['https://platform.example/mcp/', null],
  ['https://platform.example/orders-v1', null],
  ['https://gateway.example/', null],
  ['https://gateway.example', null],
  ['https://gateway.example.attacker.test/orders-v1', null],
  ['http://gateway.example/orders-v1', null],
  ['', null],
])('%s names %s', (resource, api) => {
  expect(apiOfResource(ADDRESSES, resource)).toBe(api)
})

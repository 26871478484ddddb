// A backend to try the gateway with: answers every call with two orders. Runs on any Node.

import { createServer } from 'node:http'

const port = Number(process.env.BACKEND_PORT ?? 9090)
const orders = {
  items: [
    { id: 'ord_1', product: 'tea', quantity: 2 },
    { id: 'ord_2', product: 'cups', quantity: 6 },
  ],
}

createServer((request, response) => {
  request.resume()
  const body = JSON.stringify(request.method === 'POST' ? { id: 'ord_3', product: 'tea', quantity: 1 } : orders)
  response.writeHead(request.method === 'POST' ? 201 : 200, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
  })
  response.end(body)
}).listen(port, '127.0.0.1', () => console.log(`example backend on http://127.0.0.1:${port}`))

// twin/KEY: what a device said last, and whether it is heard of.  ergon actor call twin/boiler report '{"degrees": 61}'
'use strict';
const { Actor, connect } = require('ergon-client');

class Twin extends Actor {
    static type = { reads: ['shown'] };
    report(values) {
        Object.assign(this.state, values, { seen: Date.now() });
        this.wake(); // the next step comes now
    }
    shown() { return this.state; }
    step() { // nobody calls it: the server does, until the twin sleeps
        this.state.online = Date.now() - (this.state.seen ?? 0) < 60000;
        if (this.state.online) this.sleep('60s'); else this.sleep();
    }
}

async function main() {
    const ergon = await connect(process.env.ERGON_URL);
    await ergon.work({}, { actors: { twin: Twin }, slots: 64 }); // until SIGTERM or control-C
    await ergon.close();
}
main();

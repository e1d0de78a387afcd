// Maps, sets, lists and tables that iterations change: entries come and go, and what is linked in twice, or
// taken out twice, shows in the sums.
#include <cmath>
#include <cstdio>
#include <list>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

struct Shelf {
    std::map<int, double> ordered;
    std::multiset<int> many;
    std::list<double> chain, other;
    std::unordered_map<int, double> table;
    std::unordered_map<std::string, int> names;
    unsigned state = 1;
    double sum = 0;
    unsigned draw(unsigned n) { return (state = state * 1664525u + 1013904223u) / 65536 % n; }
};

static void trees(Shelf &s, int r) {
    for (int k = 0; k < 24; k++) {
        int key = s.draw(64);
        if (s.draw(5) < 3) s.ordered[key] += r * 0.5 + k;
        else s.ordered.erase(key);
        if (s.many.size() < 40) s.many.insert(key % 16);
        else s.many.erase(s.many.begin());
    }
}

static void lists(Shelf &s, int r) {
    for (int k = 0; k < 12; k++)
        switch (s.draw(6)) {
        case 0: s.chain.push_front(r + k * 0.25); break;
        case 1: s.other.push_back(r * 0.5 + k); break;
        case 2: s.chain.splice(s.chain.begin(), s.other); break;
        case 3: s.chain.reverse(); break;
        case 4: s.chain.swap(s.other); break;
        default:
            if (s.chain.size() > 20) s.chain.pop_back();
            s.chain.sort();
        }
}

static void tables(Shelf &s, int r) {
    for (int k = 0; k < 12; k++) {
        int key = s.draw(400);
        if (s.draw(4) > 0) s.table[key] += r + k * 0.125;
        else s.table.erase(key);
        s.names[key % 3 ? "odd" : "even"] += key;
    }
    if (s.table.size() > 200) s.table.clear();
}

static double sum_of(Shelf &s) {
    double x = s.ordered.size() + s.many.size() * 0.5;
    for (auto &e : s.ordered) x = x * 0.999 + e.first + e.second * 0.01;
    for (int e : s.many) x = x * 0.999 + e;
    for (double e : s.chain) x = x * 0.999 + e;
    for (double e : s.other) x = x * 0.999 + e;
    // Their order is that of their insertion: it counts.
    for (auto &e : s.table) x = x * 0.999 + e.first + e.second * 0.01;
    return x + s.names["odd"] - s.names["even"];
}

int main() {
    std::vector<Shelf> all(64);
    for (int i = 0; i < 64; i++) all[i].state = i + 1;
    for (int r = 0; r < 60; r++) {
#pragma omp parallel for schedule(dynamic, 2)
        for (int i = 0; i < 64; i++) trees(all[i], r);
#pragma omp parallel for
        for (int i = 0; i < 64; i++) lists(all[i], r);
#pragma omp parallel for schedule(dynamic)
        for (int i = 0; i < 64; i++) {
            tables(all[i], r);
            all[i].sum = std::sqrt(all[i].sum * all[i].sum + sum_of(all[i]) * 0.01 + 1) * 0.75;
        }
        // One of the loop's own.
#pragma omp parallel for
        for (int i = 0; i < 64; i++) {
            std::set<int> seen(all[i].many.begin(), all[i].many.end());
            std::list<int> turned;
            for (int k : seen) turned.push_front(k * 7 % 31);
            while (turned.size() > 9) turned.remove(turned.back());
            for (int k : turned) all[i].sum += k * 0.125;
        }
    }
    double s = 0;
    for (int i = 0; i < 64; i++) s = s * 0.999 + all[i].sum + sum_of(all[i]);
    std::printf("%.17g\n", s);
    return 0;
}
